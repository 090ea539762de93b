/** A reason not to start, or not to run a command. The operator sees the message as it is, without a stack. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
