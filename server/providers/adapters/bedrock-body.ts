/** A Messages request as Bedrock takes it: features it knows named in the body, members of the others left out and declared. */
import type { Dropped } from '../../protocols/codec.ts';
import { present, records, text } from '../../protocols/shared/json.ts';
import { bedrockBetas, bedrockGates, bedrockMembers, bedrockTools } from '../knowledge/bedrock.ts';
import { betasFor, gated } from './beta-headers.ts';

type Members = Record<string, unknown>;

export function bedrockBody(
  input: Readonly<Members>,
  { model, header, dropped }: { readonly model: string; readonly header: string; readonly dropped: Dropped },
): Members {
  const betas = betasFor(bedrockBetas, header, model);
  const { model: _, stream: __, ...members } = input;
  let body: Members = { ...members };
  for (const name of Object.keys(body)) {
    if (bedrockMembers.names.has(name)) continue;
    delete body[name];
    dropped.push(`/${name}: not known to the upstream`);
  }
  body = gated(body, { gates: bedrockGates, betas, model }, dropped);
  const tools = records(body.tools);
  const left = tools.filter((tool) => {
    const row = bedrockTools.find(({ type }) => type.test(text(tool.type) ?? ''));
    return row === undefined || (row.beta !== undefined && betas.includes(row.beta));
  });
  if (left.length < tools.length) {
    dropped.push('/tools: some run only at their own provider');
    const { tools: ___, ...rest } = body;
    body = left.length === 0 ? rest : { ...rest, tools: left };
    if (left.length === 0) delete body.tool_choice;
  }
  return present({
    anthropic_version: 'bedrock-2023-05-31',
    anthropic_beta: betas.length === 0 ? undefined : betas,
    ...body,
  });
}
