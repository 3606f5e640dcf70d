// What the browser keeps for the page: the theme, the wall, the token.

// Store is one of the browser's stores, or the memory of this page where the browser
// keeps nothing for sites: then asking it throws.
export class Store {
  constructor(area) {
    this.area = area;
    this.here = new Map();
  }

  get(key) {
    try {
      return this.area().getItem(key) ?? "";
    } catch {
      return this.here.get(key) ?? "";
    }
  }

  set(key, value) {
    try {
      this.area().setItem(key, value);
    } catch {
      this.here.set(key, value);
    }
  }
}
