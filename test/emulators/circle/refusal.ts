/** What Circle answers with when it does not do what it was asked. */
export class CircleRefusal extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const invalid = (message: string) => new CircleRefusal(400, 2, `API parameter invalid: ${message}`);
