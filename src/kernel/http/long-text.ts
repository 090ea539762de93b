import { z } from 'zod';
import type { AnyLongAnswer, Route, TextAnswer } from './define-route.ts';

/** What a long answer is on the wire, piece by piece: as JSON, or in the alternative form that it chose. */
export function longText(
  route: Route,
  answer: AnyLongAnswer | TextAnswer,
): { readonly type: string; readonly text: AsyncIterable<string> } {
  if ('text' in answer) return { type: declaredType(route, answer), text: answer.text.pieces() };
  return { type: 'application/json; charset=utf-8', text: jsonOf(route, answer) };
}

function declaredType({ spec }: Route, { status, text }: TextAnswer): string {
  if (spec.returns[status]?.alternatives?.[text.type] === undefined) {
    throw new Error(`${spec.id} answered with ${text.type}, which it does not declare`);
  }
  return `${text.type}; charset=utf-8`;
}

/** To the letter what the whole would be. What leaves is what was declared, here item by item. */
async function* jsonOf(route: Route, { status, long: { head, items } }: AnyLongAnswer): AsyncGenerator<string> {
  const { name, rest, item } = declaredList(route, status);
  const beginning = JSON.stringify(rest.parse(head)).slice(0, -1);
  let before = `${beginning}${beginning === '{' ? '' : ','}${JSON.stringify(name)}:[`;
  for await (const some of items()) {
    if (some.length === 0) continue;
    yield before + some.map((one) => JSON.stringify(item.parse(one))).join(',');
    before = ',';
  }
  yield `${before === ',' ? '' : before}]}`;
}

function declaredList({ spec }: Route, status: number) {
  const { schema, long: name } = spec.returns[status] ?? {};
  if (!(schema instanceof z.ZodObject) || name === undefined || Object.keys(schema.shape).at(-1) !== name) {
    throw new Error(`${spec.id} answered with a long list, which it does not declare as the last of what it answers`);
  }
  const { [name]: list, ...rest } = schema.shape;
  if (!(list instanceof z.ZodArray)) throw new Error(`${spec.id} declares ${name} as long, which is no list`);
  return { name, rest: z.object(rest), item: list.element as z.ZodType };
}
