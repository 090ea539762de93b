export interface Message {
  readonly channel: 'email' | 'sms';
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Delivers a message. Throws when it could not, and is then retried. */
export interface Notifier {
  send(message: Message): Promise<void>;
}
