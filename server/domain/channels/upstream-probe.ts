/** Asks the upstream of a channel what it takes, by some twenty small paid requests, and compares that with what our rows say. */
import type { ChannelRow, createChannelsRepository } from '../../../db/repositories/channels.ts';
import { ChannelStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import type { ModelRule } from '../../contract/model-rules.ts';
import { highestQuotaOf } from '../../contract/pricing/charge.ts';
import type { Prices } from '../../contract/pricing/price.ts';
import { safeLine } from '../../contract/safe-text.ts';
import type { ProtocolId, Usage } from '../../protocols/canonical.ts';
import { allCodecs, codecFor } from '../../protocols/registry.ts';
import { parseJson, record } from '../../protocols/shared/json.ts';
import { emptyUsage } from '../../protocols/shared/usage.ts';
import { adapterOf } from '../../providers/adapter-registry.ts';
import { providerByType } from '../../providers/catalogue.ts';
import { rulesFor, withinRules } from '../../providers/knowledge/apply.ts';
import { ownRows } from '../../providers/knowledge/own.ts';
import { type ProbeQuestion, plainTokens, probeBody, probeFormOf } from '../../providers/knowledge/probe-questions.ts';
import { targetFor } from '../../providers/knowledge/target.ts';
import { probeInput } from '../../providers/probe.ts';
import { type Provider, supportsOperation } from '../../providers/provider.ts';
import { mapModel } from '../../routing/candidates.ts';
import type { RelayTest } from './service.ts';
import type { UnsupportedMembersService } from './unsupported-members.ts';

export interface ProbePlan {
  readonly model: string;
  readonly upstream_model: string;
  readonly dialect: string;
  readonly calls: number;
  /** At most, at the site's own prices; null = the model has none. */
  readonly dollars: number | null;
}

export type Found = 'taken' | 'refused' | 'unclear';

export interface ProbeLine {
  readonly question: string;
  readonly upstream: Found;
  /** `left out`: our rows say that it is not taken. */
  readonly rows: 'taken' | 'left out';
  readonly differs: boolean;
  /** What the channel's own rows can say of it; '' = nothing. */
  readonly member: string;
  /** What the upstream said, cut and escaped, or why it was not asked; '' = it took it. */
  readonly words: string;
}

export interface ProbeReport extends ProbePlan {
  readonly lines: readonly ProbeLine[];
  /** What the answers say of their usage, and the most where they say nothing, at the site's own prices; null = the model has none. */
  readonly spent: number | null;
}

export interface UpstreamProbeDeps {
  readonly repository: ReturnType<typeof createChannelsRepository>;
  readonly unsupported: Pick<UnsupportedMembersService, 'list'>;
  readonly relayTest: RelayTest;
  readonly ownRules: () => readonly ModelRule[];
  /** null = it has none. */
  readonly prices: (model: string) => Prices | null;
}

/** Who thinks unasked needs room for it. */
const [shortLimit, thoughtLimit] = [16, 256];
const maxWords = 200;
const unasked = 'not asked: the cost that was announced is reached';
const refusals: ReadonlySet<number> = new Set([400, 404, 405, 415, 422, 501]);

interface Subject {
  readonly row: ChannelRow;
  readonly model: string;
  readonly upstreamModel: string;
  readonly provider: string;
  readonly dialect: ProtocolId;
  /** Other dialects that the provider serves. */
  readonly others: readonly ProtocolId[];
  readonly questions: readonly ProbeQuestion[];
  readonly limit: number;
  readonly limitMember: string;
}

export function createUpstreamProbe(deps: UpstreamProbeDeps) {
  const subjectOf = async (id: number, wanted: string): Promise<Subject> => {
    const row = await deps.repository.find(id);
    if (row === undefined) throw new AppError('not_found', { what: `channel ${id}` });
    const provider = providerByType(row.type);
    const model = wanted || row.test_model || (row.models.split(',')[0] ?? '').trim();
    const setting = record(parseJson(row.setting)) ?? {};
    const mapping = (record(parseJson(row.model_mapping)) ?? {}) as Readonly<Record<string, unknown>>;
    const upstreamModel = mapModel(mapping, model);
    const offered = provider === undefined ? [] : dialectsAt(provider, { baseUrl: row.base_url, model: upstreamModel });
    // As requests do: what the provider does not serve is not the channel's dialect, whatever its settings say.
    const named = (name: unknown) => offered.find((one) => one === name);
    const dialect = named(setting.dialect) ?? named(provider?.protocol) ?? offered[0];
    if (provider === undefined || dialect === undefined || model === '')
      throw new AppError('params_invalid', { detail: `probe: ${provider?.slug ?? row.type} ${model}` });
    const { kind, thinking, limitMember } = probeInput(provider, upstreamModel);
    if (kind !== 'chat' && kind !== 'responses') throw new AppError('params_invalid', { detail: `probe: ${model}` });
    return {
      ...{ row, model, upstreamModel, provider: provider.slug, dialect, limitMember },
      others: offered.filter((one) => one !== dialect),
      questions: probeFormOf(dialect).questions,
      limit: thinking ? thoughtLimit : shortLimit,
    };
  };

  const costOf = (subject: Subject): number | null => {
    const prices = deps.prices(subject.model);
    if (prices === null) return null;
    const { questions, others, limit } = subject;
    const plain = mostOf(plainQuestion, limit, prices) * others.length;
    return questions.reduce((sum, question) => sum + mostOf(question, limit, prices), plain) / prices.quotaPerUnit;
  };

  const planOf = (subject: Subject): ProbePlan => ({
    model: subject.model,
    upstream_model: subject.upstreamModel,
    dialect: subject.dialect,
    calls: subject.questions.length + subject.others.length,
    dollars: costOf(subject),
  });

  /** The channel as it is, but that bodies pass untouched: what our rows would leave out is asked, too. */
  const untouched = async <Of>(
    subject: Subject,
    dialect: ProtocolId,
    work: (id: number) => Promise<Of>,
  ): Promise<Of> => {
    const { id: _, ...row } = subject.row;
    const setting = { ...record(parseJson(row.setting)), pass_through: true, dialect };
    const [made] = await deps.repository.create([
      {
        ...row,
        ...{ models: subject.model, status: ChannelStatus.disabled, other_info: '', managed_by: '', tag: '' },
        ...{ param_override: '', setting: JSON.stringify(setting) },
      },
    ]);
    if (made === undefined) throw new AppError('not_found', { what: 'channel' });
    try {
      return await work(made.id);
    } finally {
      await deps.repository.remove(made.id);
    }
  };

  interface Answer {
    readonly found: Found;
    readonly words: string;
    readonly usage: Usage | null;
  }

  const ask = async (
    channelId: number,
    { model, limit, limitMember }: Subject,
    dialect: ProtocolId,
    question: ProbeQuestion,
  ): Promise<Answer> => {
    const form = probeFormOf(dialect);
    const body = probeBody(form, question, { model, limit, limitMember });
    const stream = body.stream === true || question.streamed === true;
    const result = await deps.relayTest({
      channelId,
      model,
      stream,
      request: { path: form.path(model, stream), body },
    });
    const { status = 0, answer = '' } = result;
    const { upstream } = codecFor(dialect);
    if (result.ok) return { found: 'taken', words: '', usage: upstream.readUsage(parseJson(answer)) };
    const words = safeLine((answer === '' ? '' : upstream.decodeError(status, answer).message) || result.message);
    return { found: refusals.has(status) ? 'refused' : 'unclear', words: words.slice(0, maxWords), usage: null };
  };

  const rowsOf = (subject: Subject, { members, unsupported, parameter }: ProbeQuestion, known: ReadonlySet<string>) => {
    const { provider, dialect, upstreamModel: model } = subject;
    if (unsupported !== undefined && known.has(unsupported)) return 'left out';
    const target = targetFor(provider, model, ownRows(deps.ownRules()));
    if (parameter !== undefined && target.unsupported.has(parameter)) return 'left out';
    if (
      unsupported?.includes('effort=') === true &&
      (target.thinking === 'none' || target.efforts?.includes('low') === false)
    )
      return 'left out';
    const dropped: string[] = [];
    withinRules(members, rulesFor(provider, dialect, false, model), dropped);
    return dropped.length > 0 ? 'left out' : 'taken';
  };

  return {
    /** What a probe would do and cost. @param model '' = the one that tests ask. @throws AppError not_found, params_invalid */
    plan: async (id: number, model: string): Promise<ProbePlan> => planOf(await subjectOf(id, model)),
    /** @throws AppError check_failed where even a plain question is not answered */
    async run(id: number, model: string): Promise<ProbeReport> {
      const subject = await subjectOf(id, model);
      const { dialect, others, questions, upstreamModel } = subject;
      const plan = planOf(subject);
      const prices = deps.prices(subject.model);
      const rows = await deps.unsupported.list(id);
      const known = new Set(rows.filter((one) => one.model === upstreamModel).map(({ member }) => member));
      const announced = prices === null ? 0 : (plan.dollars ?? 0) * prices.quotaPerUnit;
      let quota = 0;
      /** Asks as long as what it may cost fits into what was announced. */
      const askWithin = async (channelId: number, of: ProtocolId, question: ProbeQuestion): Promise<Answer> => {
        const most = prices === null ? 0 : mostOf(question, subject.limit, prices);
        if (quota + most > announced + rounding) return { found: 'unclear', words: unasked, usage: null };
        const answer = await ask(channelId, subject, of, question);
        if (prices !== null && answer.found !== 'refused')
          quota += answer.usage === null ? most : highestQuotaOf(answer.usage, prices);
        return answer;
      };
      const lines = await untouched(subject, dialect, async (channelId) => {
        const found: ProbeLine[] = [];
        for (const question of questions) {
          const answer = await askWithin(channelId, dialect, question);
          if (question.id === 'plain' && answer.found !== 'taken')
            throw new AppError('check_failed', { detail: answer.words });
          found.push(lineOf(question, answer, rowsOf(subject, question, known)));
        }
        return found;
      });
      for (const other of others) {
        const answer = await untouched(subject, other, (channelId) => askWithin(channelId, other, plainQuestion));
        const { found: upstream, words } = answer;
        lines.push({ question: other, upstream, rows: 'taken', differs: upstream === 'refused', member: '', words });
      }
      return { ...plan, lines, spent: prices === null ? null : quota / prices.quotaPerUnit };
    },
  };
}

const plainQuestion: ProbeQuestion = { id: 'plain', members: {} };
/** Of a sum of quotas that was divided and multiplied. */
const rounding = 1e-6;

/** What requests can go out in, as it is decided for them (`routing/protocol.ts`); a wire that no client has is none. */
function dialectsAt(provider: Provider, place: Parameters<typeof supportsOperation>[2]): readonly ProtocolId[] {
  const { model } = place;
  const own = adapterOf(provider.slug)?.protocol?.({ operation: 'chat', model, keyKind: 'secret' }) ?? null;
  if (own?.wire !== undefined) return own.wire.dialect === undefined ? [] : [own.wire.dialect];
  if (own?.dialect !== undefined) return [own.dialect];
  const serves = (operation: string) => supportsOperation(provider, operation, place);
  return allCodecs.filter(({ definition }) => serves(definition.chatOperation)).map(({ id }) => id);
}

/** Quota of the dearest count of its prompt, and of whole answers. */
const mostOf = ({ tokens = 0, answers = 1 }: ProbeQuestion, limit: number, prices: Prices): number =>
  highestQuotaOf({ ...emptyUsage, input: plainTokens + tokens, output: limit * answers }, prices);

export type UpstreamProbeService = ReturnType<typeof createUpstreamProbe>;

function lineOf(
  { id, unsupported }: ProbeQuestion,
  { found: upstream, words }: Pick<ProbeLine, 'words'> & { readonly found: Found },
  rows: ProbeLine['rows'],
): ProbeLine {
  const differs = (upstream === 'refused' && rows === 'taken') || (upstream === 'taken' && rows === 'left out');
  return {
    question: id,
    upstream,
    rows,
    differs,
    member: differs && upstream === 'refused' ? (unsupported ?? '') : '',
    words,
  };
}
