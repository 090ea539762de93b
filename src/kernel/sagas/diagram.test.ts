import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { features } from '../../app/features.ts';
import { sagasOf } from '../../app/listed-feature.ts';
import { drawSaga } from './diagram.ts';

const source = new URL('../../', import.meta.url);
const readmes = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('README.md'))
  .map((name) => readFileSync(new URL(name, source), 'utf8'));

describe('the README of its room shows', () => {
  test.each(sagasOf(features))('a $name as it is declared', (saga) => {
    const drawn = `\`\`\`mermaid\n${drawSaga(saga)}\n\`\`\``;
    expect(
      readmes.some((readme) => readme.includes(drawn)),
      `no README holds this:\n${drawn}\n`,
    ).toBe(true);
  });
});
