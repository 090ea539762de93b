import type { AnswerBytes } from '../../../kernel/parser/task.ts';
import { cleanText } from '../../search/reading/clean-text.ts';
import { readText } from '../../search/reading/read-answer.ts';

export interface ReadProof {
  readonly holdsIt: boolean;
  /** The first non-empty line. */
  readonly begin: string | undefined;
}

export function readProof({ line, ...answer }: AnswerBytes & { readonly line: string }): ReadProof {
  const lines = readText(answer)
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)
    .map((one) => one.trim());
  return {
    holdsIt: lines.includes(line),
    begin: cleanText(
      lines.find((one) => one !== ''),
      100,
    ),
  };
}
