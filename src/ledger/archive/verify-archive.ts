import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { ArchiveFooter, ArchiveHeader } from './archive-line.ts';
import { createArchiveCheck, type Standing } from './check-archive.ts';

export interface VerifiedArchive extends Pick<ArchiveFooter, 'postings' | 'entries' | 'accounts'> {
  /** Undefined when the file has none that can be read. */
  readonly header: ArchiveHeader | undefined;
  /** The SHA-256 of the file. */
  readonly digest: string;
  readonly closing: ReadonlyMap<number, Standing>;
  /** Whole sentences; none when the file is sound. */
  readonly problems: readonly string[];
}

/** Longer than any posting. A file without ends of lines must not fill the memory. */
const longestLine = 64 * 1024 * 1024;

/** Reads an archived month and proves it from the file alone. */
export async function verifyArchive(path: string): Promise<VerifiedArchive> {
  const check = createArchiveCheck();
  const hash = createHash('sha256');
  const gunzip = createGunzip();
  const broken: string[] = [];
  const { size } = await stat(path);
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  try {
    await pipeline(createReadStream(path), gunzip, async (content) => {
      for await (const line of linesOf(content)) check.take(line);
    });
    check.end();
    if (gunzip.bytesWritten !== size) broken.push('There are bytes after the end of the archive.');
  } catch (error) {
    if (!isDamage(error)) throw error;
    broken.push(`The file is damaged: ${error.message}.`);
  }
  const { postings, entries, accounts } = check.footer();
  return {
    header: check.header,
    postings,
    entries,
    accounts,
    digest: hash.digest('hex'),
    closing: check.standings,
    problems: [...check.problems, ...broken],
  };
}

class TooLong extends Error {}

/** What zlib says of bytes that it cannot unpack, as opposed to a file that cannot be read. */
function isDamage(error: unknown): error is Error {
  return error instanceof TooLong || (error instanceof Error && /^Z_/.test((error as { code?: string }).code ?? ''));
}

/** Split at bytes of value 10 alone: a description may contain what other readers take for the end of a line. */
async function* linesOf(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let held = 0;
  for await (const chunk of content) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...rest, chunk.subarray(start, end)]);
      rest = [];
      held = 0;
      start = end + 1;
    }
    held += chunk.length - start;
    if (held > longestLine) throw new TooLong(`a line is longer than ${longestLine} bytes`);
    if (start < chunk.length) rest.push(chunk.subarray(start));
  }
  if (held > 0) yield Buffer.concat(rest);
}
