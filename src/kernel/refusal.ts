/** A reason not to start or not to run a command. Its message is one whole sentence, shown as it is, without a stack. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
