import type { AnswerBytes } from '../../../kernel/parser/task.ts';
import { cleanText } from '../../search/reading/clean-text.ts';
import { readSmallJson } from '../../search/reading/read-answer.ts';

/** A shop's response to an order, with every text cleaned that people will see. */
export function readOrderAnswer(answer: AnswerBytes): unknown {
  const said = readSmallJson(answer);
  if (typeof said !== 'object' || said === null) return undefined;
  const { status, orderId, url, reason } = said as Readonly<Record<string, unknown>>;
  return {
    status,
    url,
    orderId: typeof orderId === 'string' ? cleanText(orderId, 100) : orderId,
    reason: typeof reason === 'string' ? cleanText(reason, 200) : reason,
  };
}
