export { isOperators, run } from './program.ts';
