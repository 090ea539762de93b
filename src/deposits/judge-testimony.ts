import type { Hex } from 'viem';

/** What one node says of a deposit, when it is asked alone. */
export interface Testimony {
  readonly host: string;
  /** `otherwise`: it answers, but shows no such thing there. */
  readonly says: 'shown' | 'otherwise' | 'silent';
  /** Only of what is shown: the block that the node itself has at that height, and whether nothing takes it back any more. */
  readonly block?: { readonly number: bigint; readonly hash: Hex; readonly isFinal: boolean };
}

export type Verdict =
  | { readonly is: 'proven'; readonly blockNumber: bigint }
  | {
      readonly is: 'doubtful';
      readonly because: string;
      /** Nobody contradicts it: time alone will prove it. */
      readonly onlyTime?: true;
    };

/** Two independent nodes that show the same in the same block prove it. However many of one host there are, they are one. */
export function judgeTestimony(testimony: readonly Testimony[]): Verdict {
  const shown = testimony.flatMap(({ host, block }) => (block === undefined ? [] : [{ host, ...block }]));
  for (const { hash, number } of shown) {
    const agreeing = shown.filter((other) => other.hash === hash && other.number === number);
    if (hostsOf(agreeing).size < 2) continue;
    if (hostsOf(agreeing.filter(({ isFinal }) => isFinal)).size >= 2) return { is: 'proven', blockNumber: number };
    return { is: 'doubtful', because: 'its block is not final yet', onlyTime: true };
  }
  return { is: 'doubtful', because: whyNot(testimony) };
}

function whyNot(testimony: readonly Testimony[]): string {
  if (hostsOf(testimony).size < 2) return 'only one node can be asked: the operator has to decide';
  const shown = testimony.filter(({ says }) => says === 'shown');
  if (testimony.every(({ says }) => says === 'silent')) return 'no node answers';
  if (shown.length === 0) return 'no node shows it any more';
  if (hostsOf(shown).size > 1) return 'the nodes disagree about its block';
  return testimony.some(({ says }) => says === 'otherwise')
    ? `${[...hostsOf(shown)].join(' and ')} shows it alone: the others do not`
    : 'no second node answers';
}

export function hostsOf(some: readonly Pick<Testimony, 'host'>[]): ReadonlySet<string> {
  return new Set(some.map(({ host }) => host));
}
