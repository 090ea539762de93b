/**
 * A list that is read page by page. `await` gets the first page, `for await` all items.
 *
 * @template {{ readonly nextCursor: string | null }} Page
 * @template Item
 */
export class List {
  #load;
  #itemsOf;
  /** @type {Promise<Page> | undefined} */
  #first;

  /**
   * @param {(cursor?: string) => Promise<Page>} load
   * @param {(page: Page) => readonly Item[]} itemsOf
   */
  constructor(load, itemsOf) {
    this.#load = load;
    this.#itemsOf = itemsOf;
  }

  async *[Symbol.asyncIterator]() {
    let page = await this.#load();
    for (;;) {
      yield* this.#itemsOf(page);
      if (page.nextCursor === null) return;
      page = await this.#load(page.nextCursor);
    }
  }

  /**
   * @template Result, Failed
   * @param {((page: Page) => Result | PromiseLike<Result>) | null} [done]
   * @param {((reason: unknown) => Failed | PromiseLike<Failed>) | null} [failed]
   */
  // biome-ignore lint/suspicious/noThenProperty: a list is also the promise of its first page
  then(done, failed) {
    this.#first ??= this.#load();
    return this.#first.then(done, failed);
  }
}
