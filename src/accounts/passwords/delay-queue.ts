export interface DelayQueueLimits {
  readonly perLine: number;
  readonly perNetwork: number;
  readonly inAll: number;
}

interface Wait {
  readonly network: string;
  /** Attempts in one line run one after the other, so that parallel attempts gain nothing. */
  readonly line: string;
  readonly delayMs: number;
}

export interface DelayQueue {
  /** Runs the work after the delay and after earlier attempts in its line. Returns undefined when its network has no place left. */
  wait<T>(wait: Wait, work: () => Promise<T>): Promise<T> | undefined;
  readonly size: number;
}

/** Waiting costs a timer and a promise, but neither a hashing slot nor a database connection. */
export function createDelayQueue(bounds: DelayQueueLimits, sleep: (ms: number) => Promise<void>): DelayQueue {
  const lines = new Map<string, { length: number; last: Promise<unknown> }>();
  const perNetwork = new Map<string, number>();
  let size = 0;

  async function stand<T>({ network, line: name, delayMs }: Wait, work: () => Promise<T>): Promise<T> {
    const line = lines.get(name) ?? { length: 0, last: Promise.resolve() };
    lines.set(name, line);
    const before = line.last;
    line.length++;
    size++;
    perNetwork.set(network, (perNetwork.get(network) ?? 0) + 1);
    const done = before.then(() => sleep(delayMs)).then(work);
    line.last = done.catch(() => {});
    try {
      return await done;
    } finally {
      size--;
      if (--line.length === 0) lines.delete(name);
      const left = (perNetwork.get(network) ?? 1) - 1;
      if (left === 0) perNetwork.delete(network);
      else perNetwork.set(network, left);
    }
  }

  return {
    get size() {
      return size;
    },
    wait(wait, work) {
      const here = perNetwork.get(wait.network) ?? 0;
      // When many networks fill the room, a network that holds no place runs at once instead of paying for the others.
      if (size >= bounds.inAll && here === 0) return work();
      const length = lines.get(wait.line)?.length ?? 0;
      if (size >= bounds.inAll || here >= bounds.perNetwork || length >= bounds.perLine) return undefined;
      return stand(wait, work);
    },
  };
}
