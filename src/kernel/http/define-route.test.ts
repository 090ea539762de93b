import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineRoute, ok } from './define-route.ts';

const facts = {
  id: 'look',
  method: 'GET',
  path: '/things',
  tag: 'Things',
  summary: 'Look',
  returns: { 200: { description: 'Seen', schema: z.object({}), example: {} } },
} as const;
const look = async () => ok({});

it('takes a route with a key only together with the scope that the key needs', () => {
  expect(defineRoute({ ...facts, auth: 'key', scope: 'read' }, look).spec.scope).toBe('read');
  expect(defineRoute({ ...facts, auth: 'none' }, look).spec.scope).toBeUndefined();
  // @ts-expect-error a route with a key must say what the key has to be allowed to do
  defineRoute({ ...facts, auth: 'key' }, look);
  // @ts-expect-error there is no such scope
  defineRoute({ ...facts, auth: 'key', scope: 'steal' }, look);
  // @ts-expect-error without a key there is nothing to be allowed
  defineRoute({ ...facts, auth: 'none', scope: 'read' }, look);
});
