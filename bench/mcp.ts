import { openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { verifyLedger } from '../src/ledger/verify.ts';
import { load, startServer } from './http.ts';
import type { TransferAs } from './load-generator.ts';
import { inTurns, type Measured } from './measure.ts';
import { createPeople } from './people.ts';

const peopleCount = 10_000;
const connections = 256;

export interface McpFigures {
  readonly measured: Record<string, Measured>;
}

/** Transfers as requests of the API, and as calls of the tool send_money. */
export async function measureMcp(
  createDatabase: (name: string) => Promise<string>,
  {
    seconds,
    repeats,
    say,
  }: { readonly seconds: number; readonly repeats: number; readonly say: (line: string) => void },
): Promise<McpFigures> {
  say('Preparing …');
  const url = await createDatabase('mcp');
  const db = openDatabase({ url, poolSize: 3, logger: createLogger('silent') });
  const people = await createPeople(db, peopleCount);
  const server = await startServer(url);
  try {
    const path = '/api/agent/transfer';
    await load(server, { connections: 64, seconds: 0, path, people, everybodyOnce: true });
    const pay = (as: TransferAs) => () =>
      load(server, { connections, seconds, path: as.startsWith('tool') ? '/mcp' : path, people, as });
    const measured = await inTurns(
      { repeats, say },
      {
        'HTTP, 256 connections': pay('request'),
        'HTTP with the guard, 256 connections': pay('guarded request'),
        'send_money over MCP, 256 connections': pay('tool'),
        'send_money over MCP 2025-06-18, 256 connections': pay('tool of an older protocol'),
      },
    );
    const { problems } = await verifyLedger(db);
    if (problems.length > 0) throw new Error(`the measured ledger is not sound: ${problems.join(' ')}`);
    return { measured };
  } finally {
    await server.stop();
    await db.close();
  }
}
