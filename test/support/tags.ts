import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestTagDefinition } from 'vitest/config';
import { publishedIsHere } from '../emulators/circle/published.ts';
import { findBrowser } from './browser.ts';
import { oldestPostgres, pgbouncerBinary } from './machine-postgres.ts';
import { redisBinary } from './redis-binary.ts';
import { ucpSchemasAreHere } from './ucp-schemas.ts';

declare module 'vitest' {
  interface TestTags {
    name:
      | 'matrix'
      | 'representative'
      | 'longer'
      | 'thorough'
      | 'redis'
      | 'chromium'
      | 'root'
      | 'other-user'
      | 'mount'
      | 'circle-api'
      | 'ucp-schemas'
      | 'postgres-15'
      | 'pgbouncer';
  }
}

/** What a test needs of the machine. Where that is missing it is skipped, and the last lines of the run say how to get it. */
interface Need {
  readonly name: string;
  readonly isHere: boolean;
  readonly howToGetIt: string;
}

const isRoot = process.getuid?.() === 0;

const needs: readonly Need[] = [
  { name: 'redis', isHere: redisBinary !== undefined, howToGetIt: 'no Redis: install redis-server or valkey-server' },
  {
    name: 'chromium',
    isHere: (await findBrowser()) !== undefined,
    howToGetIt: 'no Chromium: install chromium, or name a browser with CHROME_PATH',
  },
  { name: 'root', isHere: isRoot, howToGetIt: 'not root: run npm test as root, in a container for example' },
  {
    name: 'other-user',
    isHere: isRoot && isReadByOthers(),
    howToGetIt: 'no other user: run npm test as root, in a folder that every user can read',
  },
  {
    name: 'mount',
    isHere: isRoot && canMount(),
    howToGetIt: 'nothing can be mounted: run npm test as root, in a container that may mount a tmpfs',
  },
  {
    name: 'circle-api',
    isHere: publishedIsHere,
    howToGetIt: 'no description of Circle’s API: put Circle’s published OpenAPI files into ../shared/circle',
  },
  {
    name: 'ucp-schemas',
    isHere: ucpSchemasAreHere,
    howToGetIt: 'no UCP schemas: put the published schemas into ../shared/ucp',
  },
  {
    name: 'postgres-15',
    isHere: oldestPostgres !== undefined,
    howToGetIt: 'no PostgreSQL 15: install postgresql-15',
  },
  { name: 'pgbouncer', isHere: pgbouncerBinary !== undefined, howToGetIt: 'no PgBouncer: install pgbouncer' },
];

/** Such a test is skipped for its tag only where the machine lacks what it needs. */
export const machineTags: ReadonlySet<string> = new Set(needs.map(({ name }) => name));

/** What a test may be tagged with. `describe('in Redis', { tags: ['redis'] }, …)` */
export const tags = [
  {
    name: 'matrix',
    description: 'one of many combinations, of which npm test takes a few: run npm run test:matrix for all of them',
  },
  {
    name: 'representative',
    description: 'one of the combinations that npm test takes, and the run of one room does not',
  },
  {
    name: 'longer',
    description: 'npm test runs it, and npm run test:matrix for longer; the run of one room leaves it out',
  },
  {
    name: 'thorough',
    description: 'takes seconds: npm test runs it, and so does its path; the run of one room leaves it out',
  },
  ...needs.map(({ name, isHere, howToGetIt }) => ({
    name,
    description: howToGetIt,
    ...(isHere ? {} : { skip: true }),
  })),
] as TestTagDefinition[];

function isReadByOthers(): boolean {
  const args = ['--reuid=65534', '--regid=65534', '--clear-groups', '--', 'test', '-r', 'src/app/main.ts'];
  return spawnSync('setpriv', args).status === 0;
}

function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'paywright-mount-'));
  try {
    if (spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', folder]).status !== 0) return false;
    return spawnSync('umount', [folder]).status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
