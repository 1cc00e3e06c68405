// The numbers of the database, asked for again and again: what the page shows of its health and of
// its rates.

import {get} from './api.js';

const pause = 1000; // milliseconds
const kept = 180; // of the answers

/** Stats keeps the last answers, and dispatches "stats" when there is a new one. */
export class Stats extends EventTarget {
  constructor() {
    super();
    this.answers = [];
  }

  /** run asks until stop. Nobody looks at a page that is hidden. */
  async run() {
    this.stopped = false;
    while (!this.stopped) {
      if (!document.hidden || this.answers.length === 0) {
        await this.ask();
      }
      await new Promise((resolve) => { this.waiting = setTimeout(resolve, pause); });
    }
  }

  async ask() {
    try {
      const answer = await get('stats');
      this.failure = undefined;
      answer.at = Date.parse(answer.time);
      this.answers = [...this.answers.slice(1 - kept), answer];
    } catch (error) {
      this.failure = error;
    }
    this.dispatchEvent(new Event('stats'));
  }

  stop() { this.stopped = true; }

  get last() { return this.answers.at(-1); }

  /** rates returns, for each two answers, the growth of a number per second; null after a gap. */
  rates(read) {
    return this.answers.slice(1).map((answer, i) => {
      const before = this.answers[i];
      const seconds = (answer.at - before.at) / 1000;
      const growth = read(answer.stats) - read(before.stats);
      return seconds > 0 && seconds < 20 && growth >= 0 ? growth / seconds : null;
    });
  }
}
