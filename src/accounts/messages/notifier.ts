/** A short text to a person. */
export interface Message {
  readonly channel: 'email' | 'sms';
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Carries a message to the outside world. Throws when it could not; it is then tried again. */
export interface Notifier {
  send(message: Message): Promise<void>;
}
