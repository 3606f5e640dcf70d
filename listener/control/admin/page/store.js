// What the browser stores for the page: the theme, the wall view and the token.

// Store is one of the browser's storage areas. If the browser stores nothing for sites, access to
// the area throws an exception, and the values are kept in the memory of the page.
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
