/** What the site shows to everybody, logged in or not. */
import { optionKeys, optionRow } from '../../contract/options.ts';
import type { OptionsService } from '../options/service.ts';

export function createStatus(deps: {
  readonly options: OptionsService;
  readonly version: string;
  readonly startedAt: number;
  readonly setupDone: () => Promise<boolean>;
}) {
  const { options } = deps;
  return {
    async payload(): Promise<Record<string, unknown>> {
      const published: Record<string, unknown> = {};
      for (const key of optionKeys) {
        const { publicAs } = optionRow(key);
        if (publicAs !== null) published[publicAs] = options.get(key);
      }
      return {
        ...published,
        version: deps.version,
        start_time: deps.startedAt,
        // The public half of the token; the sign-in page needs it.
        telegram_bot_id: options.get('TelegramBotToken').split(':')[0] ?? '',
        enable_batch_update: false,
        enable_online_topup:
          options.get('PayAddress') !== '' &&
          options.get('EpayId') !== '' &&
          options.get('EpayKey') !== '' &&
          // Without an address of our own the payment service could not call back.
          (options.get('CustomCallbackAddress') || options.get('ServerAddress')) !== '',
        enable_stripe_topup:
          options.get('StripeApiSecret') !== '' &&
          options.get('StripeWebhookSecret') !== '' &&
          options.get('ServerAddress') !== '',
        setup: await deps.setupDone(),
      };
    },
    notice: () => options.get('Notice'),
    about: () => options.get('About'),
    home: () => options.get('HomePageContent'),
  };
}
