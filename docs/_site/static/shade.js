// Before the page is drawn, so that it is not drawn twice: the reader's choice of light or dark.
document.body.dataset.theme = localStorage.getItem("theme") || "auto";
