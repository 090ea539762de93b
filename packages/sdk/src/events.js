import { PaywrightError } from './error.js';

/**
 * The events of a stream of Server-Sent Events. An `error` event is thrown.
 *
 * @param {() => Promise<{ next: () => Promise<Uint8Array | undefined>, close: () => void }>} open
 * @returns {AsyncGenerator<{ event: string, data: unknown }, void, undefined>}
 */
export async function* readEvents(open) {
  const { next, close } = await open();
  try {
    const parser = new EventParser();
    let isDone = false;
    for (let bytes = await next(); bytes !== undefined; bytes = await next()) {
      for (const { event, data } of parser.push(bytes)) {
        const value = JSON.parse(data);
        isDone ||= event === 'done';
        if (event !== 'error') yield { event, data: value };
        else {
          const { code = 'stream_failed', status, requestId, detail } = value;
          throw new PaywrightError(String(detail), { code, status, requestId, members: value });
        }
      }
    }
    // A proxy that gives up may end the stream like an answer.
    if (!isDone) throw new PaywrightError('The stream was cut off.', { code: 'connection_lost' });
  } finally {
    // Also when the caller leaves its loop: the service then stops its search.
    close();
  }
}

/** A character, a line or an event may end in a later chunk. */
class EventParser {
  #decoder = new TextDecoder();
  #rest = '';
  #event = '';
  /** @type {string[]} */
  #data = [];

  /**
   * @param {Uint8Array} bytes
   * @returns {Generator<{ event: string, data: string }, void, undefined>}
   */
  *push(bytes) {
    this.#rest += this.#decoder.decode(bytes, { stream: true });
    for (;;) {
      // A CR at the very end may be the first half of a line break.
      const found = /\r\n|\n|\r(?!$)/.exec(this.#rest);
      if (found === null) return;
      const line = this.#rest.slice(0, found.index);
      this.#rest = this.#rest.slice(found.index + found[0].length);
      if (line !== '') this.#read(line);
      else {
        if (this.#data.length > 0) yield { event: this.#event || 'message', data: this.#data.join('\n') };
        this.#event = '';
        this.#data = [];
      }
    }
  }

  /** @param {string} line */
  #read(line) {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'event') this.#event = value;
    if (name === 'data') this.#data.push(value);
  }
}
