import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ApiAnswer } from './api-port.ts';
import { refusalOf } from './refusal.ts';
import type { Json } from './schemas.ts';

export function resultOf(answer: ApiAnswer): CallToolResult {
  return answer.status < 400 ? success(answer.body) : refused(refusalOf(answer));
}

export function success(body: Json): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(body) }], structuredContent: body };
}

export function refused(refusal: Json): CallToolResult {
  return { ...success(refusal), isError: true };
}
