/** There is no room for more of this at the moment. Over HTTP it is 429 when the owner's share is used up, and 503 otherwise. */
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
      `One ${kind} can run at most ${share} ${what} at once, and yours has reached that limit. Try again when one has finished.`,
      true,
    );
  }

  static inAll(what: string) {
    return new NoPlace(`Too many ${what} are running at once. Try again in a moment.`, false);
  }
}
