import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { commandFor } from './explain-foreign-schema.ts';

test.each([
  [resolve('.paywright'), 'npm start'],
  ['/srv/sand_box-2', 'DATA_DIR=/srv/sand_box-2 npm start'],
  ["/srv/Ada's $HOME", "DATA_DIR='/srv/Ada'\\''s $HOME' npm start"],
])('a command for %s', (dataDir, command) => {
  expect(commandFor(dataDir, 'npm start')).toBe(command);
});
