import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { measureAgainst, printAgainst } from './against.ts';
import { type BenchServer, startBenchServer } from './bench-database.ts';
import { measureBridge } from './bridge.ts';
import { measureCustody } from './custody.ts';
import { measureGrowth } from './growth.ts';
import { measureIdle } from './idle.ts';
import { measureInstances } from './instances.ts';
import { measureLiquidity } from './liquidity.ts';
import { measureMcp } from './mcp.ts';
import { measureNano } from './nano.ts';
import { measurePolicies } from './policies.ts';
import {
  printBridge,
  printCustody,
  printGrowth,
  printIdle,
  printInstances,
  printLiquidity,
  printMcp,
  printNano,
  printPolicies,
  printReserves,
  printSearch,
  printStatement,
  printTransfers,
  printWebhooks,
} from './report.ts';
import { measureReserves } from './reserves.ts';
import { measureSearch } from './search.ts';
import { measureStatement } from './statement.ts';
import { measureTransfers } from './transfers.ts';
import { measureWebhooks } from './webhooks.ts';

const help = `npm run bench -- [options]

One run, one PostgreSQL with its default durability, everything in turns: what is compared met the same machine.

  --only PARTS            a list with commas: idle, webhooks, custody, reserves, liquidity, bridge, search, nano,
                          mcp, policies, statement, instances, growth, transfers (all of them if it is left out)
  --seconds N             how long each way is measured in a round (4)
  --repeats N             rounds; of each way the middle one counts (3)
  --transfers N           transfers in the full ledger of growth; 50000000 take 20 GB of disk (5000000)
  --memory-seconds N      how long memory is watched under load, 0 leaves it out (120)
  --pgledger FOLDER       a checkout of github.com/pgr0ss/pgledger, measured in the same run
  --against COMMIT        builds that commit aside and measures both versions in turns, and nothing else
  --record                adds the ratios of the transfers to bench/history.jsonl, under the commit
  --json                  figures as JSON, one line for each part
  --help                  this text
`;

const { values: options } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '4' },
    repeats: { type: 'string', default: '3' },
    transfers: { type: 'string', default: '5000000' },
    'memory-seconds': { type: 'string', default: '120' },
    pgledger: { type: 'string' },
    against: { type: 'string' },
    /** Where scripts/bench.mjs has built the other version, the commit of this one, and the history of ratios. */
    'against-tree': { type: 'string' },
    commit: { type: 'string', default: 'unknown' },
    history: { type: 'string', default: 'history.jsonl' },
  },
});

const say = (line: string) => void process.stderr.write(`${line}\n`);
const seconds = numberOf('seconds');
const repeats = numberOf('repeats');
const each = { seconds, repeats, say };

type CreateDatabase = (name: string) => Promise<string>;

/** A part: measures, and prints what it found. */
function part<Figures>(
  measure: (createDatabase: CreateDatabase, postgres: BenchServer) => Promise<Figures>,
  print: (figures: Figures) => void,
) {
  return async (name: string, postgres: BenchServer) => {
    const figures = await measure((database) => postgres.createDatabase(database, 'migrated'), postgres);
    if (options.json) process.stdout.write(`${JSON.stringify({ [name]: figures })}\n`);
    else print(figures);
    return figures;
  };
}

const parts = {
  idle: part((create) => measureIdle(create, say), printIdle),
  webhooks: part((create) => measureWebhooks(create, each), printWebhooks),
  custody: part((create) => measureCustody(create, say), printCustody),
  reserves: part((create) => measureReserves(create, say), printReserves),
  liquidity: part((create) => measureLiquidity(create, say), printLiquidity),
  bridge: part((create) => measureBridge(create, say), printBridge),
  search: part((create) => measureSearch(create, each), printSearch),
  nano: part((create) => measureNano(create, each), printNano),
  mcp: part((create) => measureMcp(create, each), printMcp),
  policies: part((create) => measurePolicies(create, each), printPolicies),
  statement: part((create) => measureStatement(create, each), printStatement),
  instances: part((create) => measureInstances(create, each), printInstances),
  growth: part((_create, postgres) => {
    const growth = { ...each, transfers: numberOf('transfers') };
    return measureGrowth(postgres, growth);
  }, printGrowth),
  transfers: part(async (_create, postgres) => {
    const figures = await measureTransfers(postgres, {
      ...each,
      memorySeconds: numberOf('memory-seconds'),
      pgledger: options.pgledger,
    });
    if (options.record) record(figures.ratios);
    return figures;
  }, printTransfers),
};

if (options.help) process.stdout.write(help);
else if (options['against-tree'] !== undefined) {
  const figures = await measureAgainst(options['against-tree'], each);
  if (options.json) process.stdout.write(`${JSON.stringify({ against: options.against, ...figures })}\n`);
  else printAgainst(figures, options.against ?? 'the other');
} else await measureParts();

async function measureParts(): Promise<void> {
  const wanted = options.only?.split(',').map((name) => name.trim()) ?? Object.keys(parts);
  const unknown = wanted.find((name) => !(name in parts));
  if (unknown !== undefined) {
    say(`There is no part "${unknown}". The parts are: ${Object.keys(parts).join(', ')}.`);
    process.exitCode = 1;
    return;
  }
  const postgres = await startBenchServer();
  try {
    for (const [name, run] of Object.entries(parts)) if (wanted.includes(name)) await run(name, postgres);
  } finally {
    await postgres.stop();
  }
}

function record(ratios: Readonly<Record<string, number>>): void {
  const entry = { commit: options.commit, day: new Date().toISOString().slice(0, 10), arch: process.arch, ...ratios };
  appendFileSync(options.history, `${JSON.stringify(entry)}\n`);
}

function numberOf(name: 'seconds' | 'repeats' | 'transfers' | 'memory-seconds'): number {
  const value = Number(options[name]);
  if (Number.isInteger(value) && value >= 0) return value;
  say(`--${name} takes a whole number, not "${options[name]}".`);
  process.exit(1);
}
