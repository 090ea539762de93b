import { afterAll } from 'vitest';
import { createLogger } from '../../src/kernel/log/logger.ts';
import { createParser, type Parser, type ParserOptions } from '../../src/kernel/parser/parser.ts';

/** The program that the service has. */
export const parserProgram = new URL('../../dist/src/app/parser-process.js', import.meta.url);

/** The service's parser, for as long as the test file runs. */
export function useParser(options: Partial<ParserOptions> = {}): Parser {
  const parser = createParser({ program: parserProgram, logger: createLogger('silent'), ...options });
  afterAll(() => parser.close());
  return parser;
}
