/** Messages sent to people outside the console, and the port that carries them: mail or signed webhook, as each user wants. */

export interface Recipient {
  readonly id: number;
  readonly username: string;
  readonly email: string;
  /** The user's settings as JSON text: notify_type, webhook_url, notification_email. */
  readonly setting: string;
}

export interface Notice {
  /** Name of the kind, as webhooks carry it: `quota_exceed`. */
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly values: readonly (string | number)[];
}

/** Resolves when the notice has been handed over. @throws when it cannot be. */
export type Notify = (recipient: Recipient, notice: Notice) => Promise<void>;
