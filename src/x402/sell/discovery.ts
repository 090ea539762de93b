import { z } from 'zod';
import type { Call } from './calls.ts';

/** The extension `bazaar` describes a call to catalogues of paid endpoints. */
export function describeForBazaar({ input, example, answerExample }: Call) {
  const { $schema: _, ...queryParams } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  return {
    info: {
      input: { type: 'http', method: 'GET', queryParams: example },
      output: { type: 'json', example: answerExample },
    },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        input: {
          type: 'object',
          properties: {
            type: { type: 'string', const: 'http' },
            method: { type: 'string', enum: ['GET', 'HEAD', 'DELETE'] },
            queryParams,
            headers: { type: 'object', additionalProperties: { type: 'string' } },
          },
          required: ['type', 'method'],
          additionalProperties: false,
        },
        output: {
          type: 'object',
          properties: { type: { type: 'string' }, example: { type: 'object' } },
          required: ['type'],
        },
      },
      required: ['input'],
    },
  };
}
