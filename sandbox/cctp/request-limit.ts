import type { Clock } from '../../src/kernel/clock.ts';

/** A rate limit per second. Exceeding it blocks all requests for a while. */
export class RequestLimit {
  readonly #clock: Clock;
  #recent: number[] = [];
  #blockedUntil = 0;
  total = 0;
  mostInOneSecond = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  letsIn({ mostPerSecond, blockedMs }: { mostPerSecond: number; blockedMs: number }): boolean {
    const now = this.#clock.now();
    this.#recent = this.#recent.filter((time) => time > now - 1_000);
    this.#recent.push(now);
    this.total++;
    this.mostInOneSecond = Math.max(this.mostInOneSecond, this.#recent.length);
    if (now < this.#blockedUntil) return false;
    if (this.#recent.length <= mostPerSecond) return true;
    this.#blockedUntil = now + blockedMs;
    return false;
  }

  forget(): void {
    this.#recent = [];
    this.#blockedUntil = 0;
    this.total = 0;
    this.mostInOneSecond = 0;
  }
}
