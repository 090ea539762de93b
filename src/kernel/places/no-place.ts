/** Too many are in progress. Over HTTP this is 429 when the owner's own limit is reached, and 503 otherwise. */
export class NoPlace extends Error {
  override readonly name = 'NoPlace';
  readonly isOwnShare: boolean;
  readonly retryAfterSeconds = 5;

  private constructor(message: string, isOwnShare: boolean) {
    super(message);
    this.isOwnShare = isOwnShare;
  }

  static ofOwner({ what, kind, share }: { readonly what: string; readonly kind: string; readonly share: number }) {
    return new NoPlace(
      `The limit of ${share} concurrent ${what} per ${kind} is reached. Try again when one has ended.`,
      true,
    );
  }

  static inAll(what: string) {
    return new NoPlace(`Too many ${what} are in progress. Try again in a moment.`, false);
  }
}
