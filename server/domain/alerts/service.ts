/** Looks for problems and alerts each target once about each; again only after the problem was over or has lasted long. */

import { createAlertsRepository } from '../../../db/repositories/alerts.ts';
import {
  type AlertKindName,
  type AlertTargetName,
  alertKind,
  alertKindNames,
  filledIn,
} from '../../contract/alert-kinds.ts';
import {
  alertRule,
  isRuleOn,
  optionOfRule,
  optionsOfRule,
  type RuleOption,
  repeatName,
  ruleEnd,
  ruleOptions,
  ruleValueIssue,
} from '../../contract/alert-rules.ts';
import type { Language } from '../../contract/enum.ts';
import { AppError, formatError } from '../../contract/errors.ts';
import { textIn } from '../../contract/language.ts';
import { networkWords } from '../../contract/network-words.ts';
import { optionRow } from '../../contract/options.ts';
import { localizer, singular } from '../../contract/plural.ts';
import { reasonIn } from '../../contract/storage-reasons.ts';
import { storedIn } from '../../contract/stored-texts.ts';
import type { SendMail } from '../notifications/mailer.ts';
import type { OptionsService } from '../options/service.ts';
import type { Alert, ReadOption } from './alert.ts';
import { conditions, type Found } from './conditions.ts';
import type { Deliver } from './delivery.ts';
import { type AlertPastDeps, createAlertPast, quietInputs } from './past.ts';

export interface AlertsDeps extends AlertPastDeps {
  readonly options: OptionsService;
  readonly deliver: Deliver;
  readonly sendMail: SendMail;
  /** What could not be handed over. */
  readonly report: (error: unknown) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export type AlertsService = ReturnType<typeof createAlerts>;

/** How far back a preview goes, and how much of it is shown. */
const daySeconds = 86_400;
const pastDays = 7;
const maxAlerts = 100;

type Tried = Readonly<Partial<Record<RuleOption, string | undefined>>>;

/** @returns options as if these values of rules were stored. */
const withValues = (get: ReadOption, values: Tried): ReadOption => {
  const texts = new Map(ruleOptions.map((name) => [String(optionOfRule(name)), values[name]]));
  return ((key) => {
    const text = texts.get(key);
    return text === undefined ? get(key) : optionRow(key).kind.parse(text);
  }) as ReadOption;
};

/** A target that could not be reached is tried again after so long. */
const againSeconds = 600;
/** Reasons are kept as they were worded where they were noticed. */
const inWordsOf = (values: Found['values'], language: Language): Readonly<Record<string, string | number>> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'object'
        ? textIn(value, language)
        : name === 'reason' && typeof value === 'string'
          ? storedIn(reasonIn(value, language), language)
          : value,
    ]),
  );

/** Kinds that must have been found by the check before as well: a failure of a moment raises no alert. */
const needsTwoChecks: ReadonlySet<AlertKindName> = new Set(['channel_failing']);
/** A share of the last minutes swings about its limit: it is over when it was not above for so long. */
const calmSeconds: Readonly<Partial<Record<AlertKindName, number>>> = { errors_high: 3600 };

export function createAlerts(deps: AlertsDeps) {
  const { options, deliver } = deps;
  const repository = createAlertsRepository(deps.database);
  const past = createAlertPast(deps);
  let before: ReadonlySet<string> = new Set();
  /** Keys of kinds that need calm -> when they are over, in epoch seconds; null = what was alerted before this process began is not read yet. */
  let overAt: Map<string, number> | null = null;
  let looking: Promise<void> | null = null;

  const keyOf = (kind: AlertKindName, { subject }: Found): string => `${kind}:${subject}`;
  const alertOf = (
    kind: AlertKindName,
    { subject, values }: Found,
    at: number,
    language: Language = options.get('alert_setting.language'),
  ): Alert => {
    const { label, text } = alertKind(kind);
    const site = options.get('SystemName');
    const words = filledIn(textIn(text, language), inWordsOf(values, language));
    return {
      kind,
      subject,
      site,
      title: textIn(label, language),
      text: language === 'en' ? singular(words) : words,
      at,
    };
  };
  const seen = async (): Promise<(readonly [AlertKindName, Found])[]> => {
    const muted: ReadonlySet<string> = new Set(options.get('alert_setting.muted'));
    const inputs = await deps.inputs();
    return alertKindNames
      .filter((kind) => !muted.has(kind))
      .flatMap((kind) => conditions[kind](inputs).map((found) => [kind, found] as const));
  };

  /** The row is claimed before the alert is sent: a target that hangs gets it only once, and a crash sends nothing twice. */
  const inform = async (target: AlertTargetName, key: string, alert: Alert): Promise<void> => {
    const quiet = options.get('alert_setting.repeat_hours') * 3600;
    const name = `${key}@${target}`;
    if (!(await repository.claim(0, name, alert.at, quiet))) return;
    await deliver.to(target, alert).catch(async (error: unknown) => {
      await repository.postpone(name, alert.at - quiet + againSeconds);
      deps.report(error);
    });
  };

  /** Of alerts that an earlier process sent: how long they have been calm is not known, so that they need all of it. */
  const calmSince = async (at: number): Promise<Map<string, number>> => {
    const keys = (await repository.history()).map(({ kind: name }) => name.slice(0, name.lastIndexOf('@')));
    return new Map(
      keys.flatMap((key) => {
        const kind = alertKindNames.find((name) => key.startsWith(`${name}:`));
        const calm = kind === undefined ? undefined : calmSeconds[kind];
        return calm === undefined ? [] : [[key, at + calm] as const];
      }),
    );
  };

  const check = async (): Promise<void> => {
    const targets = deliver.targets();
    if (targets.length === 0) return;
    const at = Math.floor(deps.now() / 1000);
    overAt ??= await calmSince(at);
    const found = await seen();
    const keys = new Set(found.map(([kind, one]) => keyOf(kind, one)));
    const due = found.filter(([kind, one]) => !needsTwoChecks.has(kind) || before.has(keyOf(kind, one)));
    const toEach = async (target: AlertTargetName) => {
      for (const [kind, one] of due) await inform(target, keyOf(kind, one), alertOf(kind, one, at));
    };
    await Promise.all(targets.map(toEach));
    for (const [kind, one] of found) {
      const calm = calmSeconds[kind];
      if (calm !== undefined) overAt.set(keyOf(kind, one), at + calm);
    }
    for (const [key, end] of overAt) if (end <= at) overAt.delete(key);
    // A problem that is over is alerted again when it comes back; it has to be absent in two checks to be over.
    await repository.deleteOld([...keys, ...before, ...overAt.keys()]);
    before = keys;
  };

  const ruleValue = (name: RuleOption): string => String(options.get(optionOfRule(name)));
  const sentenceOf = (kind: AlertKindName, targets: readonly string[], language: Language): string => {
    const unset = localizer(language)('（无接收方）', 'no recipient');
    const values = {
      ...Object.fromEntries(ruleOptions.map((name) => [name, ruleValue(name)])),
      targets: targets.length === 0 ? unset : targets.join(language === 'zh' ? '、' : ', '),
    };
    const words = filledIn(textIn(alertRule(kind).sentence, language) + textIn(ruleEnd, language), values);
    return language === 'en' ? singular(words) : words;
  };

  /** The mail server's answer, or why there was none; never with the password. */
  const mailWords = (error: unknown, language: Language): string => {
    if (!(error instanceof AppError)) return textIn(networkWords(error), language);
    const said = error.code === 'mail_failed' && error.cause instanceof Error ? error.cause.message : '';
    const password = options.get('SMTPToken');
    const words = said === '' ? formatError(error.code, error.params, language) : said;
    return password === '' ? words : words.replaceAll(password, '***');
  };

  return {
    /** Sends a test to this address, or to the sender's own where it is ''. @returns what the mail server said. */
    async testMail(address: string, language: Language): Promise<{ to: string; ok: boolean; message: string }> {
      const to = address || options.get('SMTPFrom') || options.get('SMTPAccount');
      const site = options.get('SystemName');
      const say = localizer(language);
      const html = `<p>${say('邮件可以送达。', 'Email works.')}</p>`;
      return deps.sendMail({ to, subject: `[${site}] ${say('测试', 'Test')}`, html }).then(
        () => ({ to, ok: true, message: '' }),
        (error: unknown) => ({ to, ok: false, message: mailWords(error, language) }),
      );
    },
    /** @param language of the reader; absent = that of the alerts. @returns what is wrong now, whether an alert was sent or not. */
    async list(language?: Language) {
      const at = Math.floor(deps.now() / 1000);
      const found = await seen();
      const history = await repository.history();
      return {
        targets: [...deliver.targets()],
        alerts: found.map(([kind, one]) => {
          const { title, text, subject } = alertOf(kind, one, at, language);
          const turns = history.filter(({ kind: name }) => name.startsWith(`${keyOf(kind, one)}@`));
          return { kind, subject, title, text, told_at: Math.max(0, ...turns.map(({ sent_at }) => sent_at)) };
        }),
      };
    },
    /** Every rule as it reads with the values that hold. */
    rules(language: Language) {
      const muted: ReadonlySet<string> = new Set(options.get('alert_setting.muted'));
      const targets = [...deliver.targets()];
      const rules = alertKindNames.map((kind) => {
        const names = [...optionsOfRule(kind), repeatName] as const;
        return {
          kind,
          label: textIn(alertKind(kind).label, language),
          sentence: sentenceOf(kind, targets, language),
          muted: muted.has(kind),
          on: !muted.has(kind) && isRuleOn(kind, ruleValue),
          past: alertRule(kind).past,
          values: Object.fromEntries(names.map((name) => [name, ruleValue(name)])),
        };
      });
      return { targets, rules };
    },
    /**
     * What a rule would have said in the last seven days.
     * @param tried values in place of those that hold. @throws AppError option_invalid
     */
    async preview(kind: AlertKindName, tried: Tried, language: Language) {
      for (const name of ruleOptions) {
        const issue = tried[name] === undefined ? null : ruleValueIssue(name, tried[name]);
        if (issue !== null) throw new AppError('option_invalid', { key: optionOfRule(name), ...issue });
      }
      const get = withValues(options.get, tried);
      const to = Math.floor(deps.now() / 1000);
      const range = { from: to - pastDays * daySeconds, to, get };
      const moments = await past.moments(kind, range);
      const quiet = get('alert_setting.repeat_hours') * 3600;
      const runs = new Map<string, { last: number; sentAt: number }>();
      const alerts: { readonly at: number; readonly found: Found }[] = [];
      for (const { at, step, inputs, minutes } of moments) {
        const read = minutes === undefined ? get : withValues(get, { failed_minutes: minutes });
        for (const found of conditions[kind]({ ...quietInputs, ...inputs, get: read, now: at })) {
          const run = runs.get(found.subject);
          const goesOn = run !== undefined && at - run.last <= Math.max(step, calmSeconds[kind] ?? 0);
          const isSent = !goesOn || at - run.sentAt >= quiet;
          runs.set(found.subject, { last: at, sentAt: isSent ? at : run.sentAt });
          if (isSent) alerts.push({ at, found });
        }
      }
      return {
        kind,
        ...{ from: range.from, to },
        past: alertRule(kind).past,
        coarse_until: past.coarseUntil(kind, range),
        count: alerts.length,
        days: Array.from({ length: pastDays }, (_, day) => {
          const start = range.from + day * daySeconds;
          return alerts.filter(({ at }) => at > start && at <= start + daySeconds).length;
        }),
        // The latest first.
        alerts: alerts
          .slice(-maxAlerts)
          .reverse()
          .map(({ at, found }) => ({ at, subject: found.subject, text: alertOf(kind, found, at, language).text })),
      };
    },
    /** One look at a time: a target may be slow to answer. */
    check(): Promise<void> {
      looking ??= check().finally(() => {
        looking = null;
      });
      return looking;
    },
    /** Sends a test alert to every target. @returns the result of each, in words without secrets. */
    async test(): Promise<{ target: AlertTargetName; ok: boolean; message: string }[]> {
      const targets = deliver.targets();
      if (targets.length === 0) throw new AppError('alert_targets_unset');
      const localize = localizer(options.get('alert_setting.language'));
      const alert: Alert = {
        kind: 'test',
        subject: '',
        site: options.get('SystemName'),
        title: localize('测试', 'Test'),
        text: localize('告警将以此方式送达。', 'This is how alerts arrive.'),
        at: Math.floor(deps.now() / 1000),
      };
      return Promise.all(
        targets.map((target) =>
          deliver.to(target, alert).then(
            () => ({ target, ok: true, message: '' }),
            (error: unknown) => ({ target, ok: false, message: error instanceof AppError ? error.message : '' }),
          ),
        ),
      );
    },
  };
}
