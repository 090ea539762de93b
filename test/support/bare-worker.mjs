// A thread whose program has the language, what every runtime of web standards has, and nothing of Node.
import { createContext, runInContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';

const names = [
  ...['AbortController', 'AbortSignal', 'Blob', 'DOMException', 'Headers', 'ReadableStream', 'Request', 'Response'],
  ...[
    'TextDecoder',
    'TextEncoder',
    'URL',
    'URLSearchParams',
    'atob',
    'btoa',
    'clearTimeout',
    'crypto',
    'fetch',
    'setTimeout',
  ],
];
const web = createContext(Object.fromEntries(names.map((name) => [name, globalThis[name]])));
runInContext(workerData.code, web);
parentPort.postMessage(await runInContext('program.run', web)(workerData.given));
