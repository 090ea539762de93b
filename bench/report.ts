import type { BridgeFigures } from './bridge.ts';
import type { CpuPerThing } from './cpu.ts';
import type { CustodyFigures } from './custody.ts';
import type { GrowthFigures } from './growth.ts';
import type { IdleFigures } from './idle.ts';
import type { InstanceFigures } from './instances.ts';
import type { LiquidityFigures } from './liquidity.ts';
import type { McpFigures } from './mcp.ts';
import { describeMeasured, type Measured } from './measure.ts';
import type { NanoFigures } from './nano.ts';
import type { PolicyFigures } from './policies.ts';
import type { ReserveFigures } from './reserves.ts';
import type { SearchFigures } from './search.ts';
import type { StatementFigures } from './statement.ts';
import type { WebhookFigures } from './webhooks.ts';

type Named = Readonly<Record<string, Measured>>;

/** The figures that are comparable between machines, by name. */
export function toRatios(measured: Named, memoryMb: readonly number[]): Record<string, number> {
  const of = (name: string) => measured[name] as Measured;
  const http = of('c: HTTP, 256 connections');
  const bestOneAtATime = Math.max(
    of('a: one at a time, 8 connections').transfersPerSecond,
    of('a: one at a time, 32 connections').transfersPerSecond,
  );
  const half = Math.floor(memoryMb.length / 2);
  const ratios = {
    httpToOneAtATime: http.transfersPerSecond / bestOneAtATime,
    httpToEmptyHandler: http.transfersPerSecond / of('d: empty handler, 256 connections').transfersPerSecond,
    serverCpuToEmptyHandler: cpuOf(http).serverUs / cpuOf(of('d: empty handler, 256 connections')).serverUs,
    serverCpuUs: cpuOf(http).serverUs,
    postgresCpuUs: cpuOf(http).postgresUs,
    postgresCpuUsInBatchesOf200: cpuOf(of('b: posting function, 200 at once')).postgresUs,
    twoPostingConnectionsToOne:
      of('b: posting function, 200 at once, 2 connections').transfersPerSecond /
      of('b: posting function, 200 at once').transfersPerSecond,
    p99ToP50At256: http.p99Ms / http.p50Ms,
    loneTransferToSingleCall: of('c: HTTP, 1 connections').p50Ms / of('a: one at a time, 1 connections').p50Ms,
    ...(half > 0 && { memoryLastHalfToFirstHalf: mean(memoryMb.slice(half)) / mean(memoryMb.slice(0, half)) }),
  };
  return Object.fromEntries(Object.entries(ratios).map(([name, value]) => [name, Math.round(value * 100) / 100]));
}

function cpuOf({ cpu }: Measured): CpuPerThing {
  return cpu ?? { serverUs: Number.NaN, postgresUs: Number.NaN };
}

export interface TransferFigures {
  readonly measured: Named;
  readonly ratios: Readonly<Record<string, number>>;
  readonly memoryMb: readonly number[];
}

export function printTransfers({ measured, ratios, memoryMb }: TransferFigures): void {
  const lines = [
    ...Object.entries(measured).map(([name, one]) => `${name.padEnd(54)} ${describeMeasured(one)}`),
    '',
    ...Object.entries(ratios).map(([name, value]) => `${name.padEnd(54)} ${value.toFixed(2).padStart(8)}`),
    ...(memoryMb.length > 0 ? ['', `memory of the server under load, MB: ${memoryMb.join(' ')}`] : []),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

export function printGrowth({ measured, gigabytes, statement }: GrowthFigures): void {
  const of = (name: string) => measured[name] as Measured;
  const rate = of('transfers, full ledger').transfersPerSecond / of('transfers, empty ledger').transfersPerSecond;
  const p99 = of('transfers, full ledger').p99Ms / of('transfers, empty ledger').p99Ms;
  const history = of('history, full ledger').p50Ms / of('history, empty ledger').p50Ms;
  for (const [name, one] of Object.entries(measured))
    process.stdout.write(`${name.padEnd(54)} ${describeMeasured(one)}\n`);
  printLines([
    ['the full ledger on disk', `${gigabytes.toFixed(1)} GB`],
    ['transfers per second, full to empty', rate.toFixed(2), judge(rate >= 0.9, 'at least 0.9')],
    ['p99 of transfers, full to empty', p99.toFixed(2), judge(p99 <= 1.1, 'at most 1.1')],
    ['p50 of a page of history, full to empty', history.toFixed(2)],
    [`statement of an old month, ${statement.lines} lines`, `${statement.ms.toFixed(0)} ms`],
  ]);
}

export function printIdle({ serverCpu, postgresCpu, transactionsPerSecond }: IdleFigures): void {
  const lines = [
    `an idle sandbox: server, % of a core                   ${serverCpu.toFixed(2).padStart(8)}`,
    `an idle sandbox: PostgreSQL, % of a core               ${postgresCpu.toFixed(2).padStart(8)}`,
    `an idle sandbox: transactions per second               ${transactionsPerSecond.toFixed(1).padStart(8)}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

export function printCustody({ registrationBeyondHashMs, withdrawals, catchUp }: CustodyFigures): void {
  const lines = [
    ['registration beyond its password hash, p50', `${registrationBeyondHashMs.toFixed(0)} ms`],
    [
      `${withdrawals.count} withdrawals at once, all complete`,
      `${withdrawals.seconds.toFixed(1)} s`,
      judge(withdrawals.seconds <= 12, 'within 12 s'),
    ],
    [`${catchUp.deposits} deposits in ${catchUp.blocks} blocks, caught up`, `${catchUp.seconds.toFixed(1)} s`],
  ] as const;
  printLines(lines);
}

export function printBridge({ count, seconds, differences }: BridgeFigures): void {
  printLines([
    [
      `${count} transfers between chains at once, all complete`,
      `${seconds.toFixed(1)} s`,
      judge(seconds < 60, 'under 60 s'),
    ],
    [
      'what reserves differ by at the end',
      differences.join(', ') || '0',
      judge(differences.length === 0, 'by nothing'),
    ],
  ]);
}

export function printLiquidity(figures: LiquidityFigures): void {
  const { waiting, finished, emptyMs, fullMs, fullToEmpty, arrivalMs, indexes, scanned } = figures;
  printLines([
    [`tokens set aside for ${waiting} withdrawals, no others`, `${emptyMs.toFixed(1)} ms`],
    [`and beside ${finished.toLocaleString('en')} finished ones`, `${fullMs.toFixed(1)} ms`],
    ['the one to the other', fullToEmpty.toFixed(2), judge(fullToEmpty <= 2, 'at most 2 times')],
    ['an arrival told apart beside as many', `${arrivalMs.toFixed(1)} ms`],
    [
      'large tables read from end to end for any of it',
      scanned.join(' ') || 'none',
      judge(scanned.length === 0 && indexes.length > 0, `by an index (${indexes.join(', ')})`),
    ],
  ]);
}

export function printReserves({ snapshot, report, choose }: ReserveFigures): void {
  const thousands = (count: number) => count.toLocaleString('en');
  const lines = [
    [
      `a snapshot of ${thousands(snapshot.accounts)} accounts: its transaction`,
      `${snapshot.transactionMs.toFixed(0)} ms`,
    ],
    ['and then its balances are read, with none open', `${snapshot.readMs.toFixed(0)} ms`],
    [`reserves with dust in ${thousands(report.wallets)} wallets`, `${report.seconds.toFixed(1)} s`],
    [`choosing 50 of ${thousands(choose.wallets)} wallets to sweep`, `${choose.ms.toFixed(1)} ms`],
    ['and after a thousand deposits have changed', `${choose.afterThousandMs.toFixed(0)} ms`],
  ] as const;
  printLines(lines);
}

export function printWebhooks({ alone, beside, transfersAlone, failing }: WebhookFigures): void {
  const perSecond = (figure: number) => `${Math.round(figure).toLocaleString('en')}/s`;
  const lines = [
    ['webhook deliveries, alone', perSecond(alone)],
    ['webhook deliveries beside transfers', perSecond(beside.deliveries)],
    ['transfers beside them', perSecond(beside.transfers)],
    ['the same transfers alone', perSecond(transfersAlone)],
    ['10,000 to a receiver that fails 30 %: delivered', failing.delivered.toLocaleString('en')],
    ['and finally failed, none lost or marked twice', failing.failed.toLocaleString('en')],
    ['with retries after 1, 2 and 4 s', `${failing.seconds.toFixed(1)} s`],
  ] as const;
  printLines(lines);
}

export function printInstances(figures: InstanceFigures): void {
  for (const { instances, transfersPerSecond, p99Ms, serverUs, postgresUs, loadUs, walBytes } of figures) {
    const name = `${instances} ${instances === 1 ? 'instance' : 'instances'}`;
    const cpu = `CPU ${serverUs.toFixed(0)} + PostgreSQL ${postgresUs.toFixed(0)} + load ${loadUs.toFixed(0)} us`;
    const wal = `WAL ${walBytes.toFixed(0)} bytes`;
    process.stdout.write(
      `${name}: ${transfersPerSecond.toLocaleString('en')}/s, p99 ${p99Ms.toFixed(1)} ms, ${cpu}, ${wal}\n`,
    );
  }
}

export function printSearch({ quick, hostile, slow, before, after, openAtShop }: SearchFigures): void {
  const grown = after.heapMb - before.heapMb;
  printLines([
    ['search of a quick shop beside transfers, p50', `${quick.p50Ms.toFixed(0)} ms`],
    ['and p99', `${quick.p99Ms.toFixed(0)} ms`, judge(quick.p99Ms < 1_000, 'under 1 s')],
    ['transfers beside it', `${quick.transfersPerSecond.toLocaleString('en')}/s`],
    [
      `the event loop, blocked at most by ${hostile.searches} searches of hostile pages`,
      `${hostile.longestBlockMs.toFixed(0)} ms`,
      judge(hostile.longestBlockMs < 100, 'under 100 ms'),
    ],
    [`${slow.searches.toLocaleString('en')} searches of a shop that never answers`, `${slow.seconds.toFixed(1)} s`],
    ['the longest of them', `${slow.longestMs.toFixed(0)} ms`, judge(slow.longestMs < 8_000, 'under 8 s')],
    [
      'sockets before and after, and open at the shop',
      `${before.sockets} ${after.sockets} ${openAtShop}`,
      judge(after.sockets <= before.sockets && openAtShop === 0, 'none left behind'),
    ],
    ['timers', `${before.timers} ${after.timers}`, judge(after.timers <= before.timers, 'none left behind')],
    ['heap', `${before.heapMb.toFixed(1)} ${after.heapMb.toFixed(1)} MB`, judge(grown < 5, 'grown by less than 5 MB')],
  ]);
}

export function printPolicies({ measured, chainedPerSecond }: PolicyFigures): void {
  const [freeFunction, boundFunction, free, bound] = Object.values(measured).map((one) => one.transfersPerSecond);
  const ratio = (one = Number.NaN, other = Number.NaN) => (one / other).toFixed(2);
  const lines = [
    ...Object.entries(measured).map(([name, one]) => `${name.padEnd(64)} ${describeMeasured(one)}`),
    '',
    `${'posting function, with four budgets ÷ without'.padEnd(64)} ${ratio(boundFunction, freeFunction)}`,
    `${'HTTP, with policies ÷ without (goal 0.75)'.padEnd(64)} ${ratio(bound, free)}`,
    `${'records chained when nobody pays'.padEnd(64)} ${chainedPerSecond.toLocaleString('en')}/s`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

export function printMcp({ measured }: McpFigures): void {
  const [request, guarded, tool, older] = Object.values(measured).map((one) => one.transfersPerSecond);
  const ratio = (one = Number.NaN) => (one / (request ?? Number.NaN)).toFixed(2);
  const lines = [
    ...Object.entries(measured).map(([name, one]) => `${name.padEnd(54)} ${describeMeasured(one)}`),
    '',
    `${'the tool ÷ the request (goal 0.5)'.padEnd(54)} ${ratio(tool)}`,
    `${'the tool in an older protocol ÷ the request'.padEnd(54)} ${ratio(older)}`,
    `${'the request with the guard ÷ without'.padEnd(54)} ${ratio(guarded)}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

export function printNano(figures: NanoFigures): void {
  const { recoveryUs, exact, stock, fromBalance, transfers, settled } = figures;
  const perSecond = ({ transfersPerSecond }: Measured) => `${transfersPerSecond.toLocaleString('en')}/s`;
  const toStock = exact.transfersPerSecond / stock.transfersPerSecond;
  const toTransfers = fromBalance.transfersPerSecond / transfers.transfersPerSecond;
  printLines([
    ['who has signed: here', `${recoveryUs.ours.toFixed(0)} us`],
    ['and with viem', `${recoveryUs.viems.toFixed(0)} us`],
    ['calls paid with exact, p50', `${exact.p50Ms.toFixed(0)} ms`],
    ['calls paid with exact', perSecond(exact)],
    ['the stock middleware, settling each', perSecond(stock)],
    ['the one to the other', toStock.toFixed(1), judge(toStock >= 10, 'at least 10 times')],
    ['CPU for one call paid with exact: server', `${cpuOf(exact).serverUs.toFixed(0)} us`],
    ['and PostgreSQL', `${cpuOf(exact).postgresUs.toFixed(0)} us`],
    ['CPU for one call of the stock middleware, itself', `${cpuOf(stock).serverUs.toFixed(0)} us`],
    ['calls paid from a balance', perSecond(fromBalance)],
    ['transfers over HTTP', perSecond(transfers)],
    ['the one to the other', toTransfers.toFixed(2), judge(toTransfers >= 0.7, 'at least 0.7')],
    [
      `${settled.payments.toLocaleString('en')} payments settled by ${settled.transactions} transactions`,
      `${settled.seconds.toFixed(0)} s`,
    ],
  ]);
}

export function printStatement(figures: StatementFigures): void {
  const { lines, alone, without, beside, memoryMb, linesPerSecond } = figures;
  const grown = memoryMb.beside - memoryMb.without;
  printLines([
    [`a statement of ${lines.toLocaleString('en')} lines alone`, `${alone.seconds.toFixed(1)} s`],
    ['its size', `${alone.megabytes.toFixed(0)} MB`],
    ['transfers without statements', `${without.transfersPerSecond.toLocaleString('en')}/s`],
    ['and beside five of them', `${beside.transfersPerSecond.toLocaleString('en')}/s`],
    ['p50 without', `${without.p50Ms.toFixed(1)} ms`],
    ['and beside', `${beside.p50Ms.toFixed(1)} ms`],
    ['p99 without', `${without.p99Ms.toFixed(1)} ms`],
    ['and beside', `${beside.p99Ms.toFixed(1)} ms`, judge(beside.p99Ms < 1.5 * without.p99Ms, 'less than half more')],
    ['lines that the five got meanwhile', `${linesPerSecond.toLocaleString('en')}/s`],
    ['most memory without', `${memoryMb.without} MB`],
    ['and beside', `${memoryMb.beside} MB`, judge(grown < 150, 'at most 150 MB more')],
  ]);
}

/** A name, its figure, and whether the goal was reached where there is one. */
type Line = readonly [name: string, figure: string, verdict?: string];

function printLines(lines: readonly Line[]): void {
  const text = lines.map(([name, figure, verdict]) =>
    `${name.padEnd(54)} ${figure.padStart(8)}   ${verdict ?? ''}`.trimEnd(),
  );
  process.stdout.write(`${text.join('\n')}\n\n`);
}

function judge(isReached: boolean, goal: string): string {
  return `${isReached ? 'reached' : 'MISSED'}: ${goal}`;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
