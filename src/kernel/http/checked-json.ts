import { compiled } from './compiled.ts';
import type { Route } from './define-route.ts';

/** Of the answer that the owner is asked. */
const askedStatus = 202;

/** Drops undeclared fields. A missing or wrong one is our error, and the answer is not sent. */
export function checkedJson(route: Route, answer: { status: number; body: unknown }): string {
  const { returns, asks, id } = route.spec;
  const isQuestion =
    answer.status === askedStatus && asks !== undefined && compiled(asks.schema).safeParse(answer.body).success;
  const declared = isQuestion ? asks : returns[answer.status];
  if (declared === undefined) throw new Error(`${id} answered with status ${answer.status}, which it does not declare`);
  return JSON.stringify(compiled(declared.schema).parse(answer.body));
}
