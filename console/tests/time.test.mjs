import assert from "node:assert/strict";
import { test } from "node:test";
import * as time from "../src/leasehold_console/static/core/time.mjs";

const ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu"];

test("dates of the API are in UTC where they name no zone", () => {
  assert.equal(time.parse("2031-05-01T09:00:00.000000"), Date.UTC(2031, 4, 1, 9));
  assert.equal(time.parse("2031-05-01 09:00:00"), Date.UTC(2031, 4, 1, 9));
  assert.equal(time.parse("2031-05-01T09:00:00Z"), Date.UTC(2031, 4, 1, 9));
  assert.equal(time.parse("2031-05-01T09:00:00+02:00"), Date.UTC(2031, 4, 1, 7));
});

test("what a field shows is read as the same moment, through a year, in every zone", () => {
  for (const zone of ZONES) {
    let ambiguous = 0;
    for (let moment = Date.UTC(2026, 0, 1); moment < Date.UTC(2027, 0, 1); moment += 7 * time.HOUR) {
      const read = time.fromLocal(time.toLocal(moment, zone), zone);
      if (read !== moment) {
        // Where the clocks go back, two moments have one name: it is the other one of the two.
        assert.equal(time.toLocal(read, zone), time.toLocal(moment, zone));
        ambiguous += 1;
      }
    }
    assert.ok(ambiguous <= 1, `${zone}: ${ambiguous}`);
  }
});

test("a time that a change of the clocks leaves out is the one after it", () => {
  assert.equal(time.fromLocal("2026-03-29T02:30", "Europe/Berlin"), Date.UTC(2026, 2, 29, 1, 30));
  assert.ok(Number.isNaN(time.fromLocal("2026-03-", "UTC")));
});

test("a day begins at midnight of the zone", () => {
  assert.equal(time.dayStart(Date.UTC(2026, 11, 21, 23, 21), "Europe/Berlin"), Date.UTC(2026, 11, 21, 23));
});

test("lengths have two units, and what is near is told in its direction", () => {
  assert.equal(time.span(51 * time.HOUR), "2 d 3 h");
  assert.equal(time.span(45 * time.MINUTE), "45 min");
  assert.equal(time.span(time.DAY + 5 * time.MINUTE), "1 d");
  assert.equal(time.span(0), "0 s");
  assert.equal(time.relative(10 * time.HOUR, 0), "in 10 h");
  assert.equal(time.relative(0, 90 * time.MINUTE), "1 h 30 min ago");
  assert.equal(time.relative(1000, 0), "now");
});
