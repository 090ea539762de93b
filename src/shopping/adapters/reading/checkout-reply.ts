import type { AnswerBytes } from '../../../kernel/parser/task.ts';
import { cleanText } from '../../search/reading/clean-text.ts';
import { readSmallJson } from '../../search/reading/read-answer.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../fields.ts';

const mostMessages = 20;
const longestMessage = 200;
const longestOrderId = 100;
/** Codes and paths of the protocol are far shorter. */
const longestWord = 200;

/** A checkout's response, with every text cleaned that people will see. Undefined if it is not JSON. */
export function readCheckoutReply(answer: AnswerBytes): Fields | undefined {
  const reply = readSmallJson(answer);
  if (reply === undefined) return undefined;
  const fields = fieldsOf(reply);
  const { messages, order, ...rest } = fields;
  return {
    ...rest,
    content: readReason(fields),
    messages: listOf(messages, mostMessages).map(fieldsOf).map(readMessage),
    order: { ...fieldsOf(order), id: cleanText(fieldsOf(order)['id'], longestOrderId) },
  };
}

function readMessage({ type, code, severity, path, presentation, content }: Fields) {
  return {
    type: word(type),
    code: word(code),
    severity: word(severity),
    path: word(path),
    presentation: word(presentation),
    content: cleanText(content, longestMessage),
  };
}

function word(value: unknown): string | undefined {
  return textOf(value)?.slice(0, longestWord);
}

/** The reason of a refusal: UCP's `content`, an RFC 9457 problem, or another common field. */
function readReason(fields: Fields): string | undefined {
  const { content, detail, message, error, error_description: description, title } = fields;
  const told = [content, detail, message, description, fieldsOf(error)['message'], title, error];
  return told.map((one) => cleanText(one, longestMessage)).find((text) => text !== undefined);
}
