// Rectangles to be filled together.

/** Rectangles of one colour, in an array that only grows. */
export class Rectangles {
  data = new Float32Array(4096);
  size = 0;

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  add(x, y, width, height) {
    if (this.size + 4 > this.data.length) {
      const more = new Float32Array(this.data.length * 2);
      more.set(this.data);
      this.data = more;
    }
    this.data[this.size++] = x;
    this.data[this.size++] = y;
    this.data[this.size++] = width;
    this.data[this.size++] = height;
  }

  /** Makes them the path of a context. @param {CanvasRenderingContext2D} context @param {number} radius */
  trace(context, radius) {
    context.beginPath();
    const { data, size } = this;
    for (let at = 0; at < size; at += 4) {
      const width = /** @type {number} */ (data[at + 2]);
      if (radius && width > 3 * radius) context.roundRect(/** @type {number} */ (data[at]), /** @type {number} */ (data[at + 1]), width, /** @type {number} */ (data[at + 3]), radius);
      else context.rect(/** @type {number} */ (data[at]), /** @type {number} */ (data[at + 1]), width, /** @type {number} */ (data[at + 3]));
    }
  }
}
