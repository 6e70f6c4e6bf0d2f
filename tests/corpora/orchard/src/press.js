"use strict";

/** A press that fills bottles. */
class Press {
  constructor(litresPerBottle) {
    this.size = litresPerBottle;
    this.left = 0;
    this.bottles = 0;
  }

  /** Press fruit: of ten kilograms come six litres. */
  async press(kilograms) {
    const litres = kilograms * 0.6 + this.left;
    const filled = Math.floor(litres / this.size);
    this.left = litres - filled * this.size;
    this.bottles += filled;
    return filled;
  }
}

module.exports = { Press };
