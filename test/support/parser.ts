import { afterAll } from 'vitest';
import { createLogger } from '../../src/logger.ts';
import { createParser, type Parser, type ParserOptions } from '../../src/parser/parser.ts';

/** The thread that the service has. */
export const parserThread = new URL('../../dist/app/parser-thread.js', import.meta.url);

/** The service's parser, for as long as the test file runs. */
export function useParser(options: Partial<ParserOptions> = {}): Parser {
  const parser = createParser({ thread: parserThread, logger: createLogger('silent'), ...options });
  afterAll(() => parser.close());
  return parser;
}
