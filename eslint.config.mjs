// Biome does the rest; these rules need types, and a dropped promise here can be a dropped ledger write.
import tseslint from 'typescript-eslint';

export default tseslint.config({
  files: ['src/**/*.ts', 'sandbox/**/*.ts', 'packages/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts'],
  extends: [tseslint.configs.base],
  languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
  rules: {
    '@typescript-eslint/no-floating-promises': 'error',
    '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
    '@typescript-eslint/await-thenable': 'error',
    'no-restricted-properties': [
      'error',
      { object: 'URL', property: 'canParse', message: 'See src/kernel/text/parse-url.ts.' },
    ],
    '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
  },
});
