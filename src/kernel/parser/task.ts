/** The name and the types of a parser task. Only the type of its function is imported here, so the service never loads the code. */
export interface Task<Input, Output> {
  readonly name: string;
  /** Never set; it carries the types. */
  readonly reads?: (input: Input) => Output;
}

export function taskOf<Read extends (input: never) => unknown>(
  name: string,
): Task<Parameters<Read>[0], ReturnType<Read>> {
  return { name };
}

/** A third party's response, as a task receives it. */
export interface AnswerBytes {
  readonly bytes: Uint8Array;
  /** The content type that the response claims. */
  readonly type: string;
}
