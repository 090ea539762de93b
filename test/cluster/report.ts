/** What one fault has cost. */
export interface Round {
  readonly fault: string;
  /** Until another primary accepted writes. */
  readonly patroniMs?: number;
  /** From then until every instance had acknowledged a payment. */
  readonly backMs?: number;
  /** The longest time in which the balancer acknowledged no payment. */
  readonly silentMs: number;
  /** Attempts that were not answered, or were told to come again. */
  readonly lost: number;
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1);

function spread(values: readonly (number | undefined)[]): string {
  const sorted = values.filter((value) => value !== undefined).toSorted((a, b) => a - b);
  if (sorted.length === 0) return '–';
  return `${seconds(sorted[Math.floor(sorted.length / 2)] as number)} (${seconds(sorted.at(-1) as number)})`;
}

/** The middle one of the rounds, and in brackets the worst. */
export function printRounds(rounds: readonly Round[], acknowledged: number): void {
  const lines = [...new Set(rounds.map(({ fault }) => fault))].map((fault) => {
    const own = rounds.filter((round) => round.fault === fault);
    const lost = own.reduce((sum, round) => sum + round.lost, 0);
    const of = (pick: (round: Round) => number | undefined) => spread(own.map(pick));
    return `| ${fault} | ${own.length} | ${of(({ patroniMs }) => patroniMs)} | ${of(({ backMs }) => backMs)} | ${of(({ silentMs }) => silentMs)} | ${lost} |`;
  });
  const head = [
    '| fault | rounds | another primary, s | service back after that, s | longest time without a payment, s | attempts lost |',
    '|---|---|---|---|---|---|',
  ];
  process.stdout.write(`${[...head, ...lines].join('\n')}\n${acknowledged} operations acknowledged\n`);
}
