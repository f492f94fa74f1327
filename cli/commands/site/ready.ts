/** What a server says when it begins to serve: lines for people, or one JSON line for programs. */
import type { Gateway } from '../../../server/app/serve.ts';
import type { Context } from '../../context.ts';

export interface Ready {
  readonly gateway: Gateway;
  /** For setting up in a browser; null once set up. */
  readonly link: string | null;
  readonly relays: number;
  /** Host of the figures. */
  readonly metricsHost: string;
}

export function printReadyAsJson({ output, dataDir }: Context, { gateway, link, relays }: Ready): void {
  output.line(
    JSON.stringify({
      level: 'info',
      at: new Date().toISOString(),
      event: 'ready',
      url: gateway.url,
      data_dir: dataDir,
      setup_link: link,
      recovered: gateway.recovered,
      owed: gateway.pending,
      descriptors: gateway.descriptors,
      relays,
      metrics_port: gateway.metricsPort,
    }),
  );
}

export function printReady({ output, dataDir, say }: Context, { gateway, link, metricsHost }: Ready): void {
  const { recovered, pending } = gateway;
  output.line(`${say('地址', 'URL')}: ${gateway.url}`);
  if (link !== null) output.line(`${say('初始化（链接只能用一次）', 'Setup (a link that works once)')}: ${link}`);
  output.line(`${say('数据目录', 'Data directory')}: ${dataDir}`);
  if (gateway.metricsPort !== null)
    output.note(`${say('监控指标', 'Metrics')}: http://${metricsHost}:${gateway.metricsPort}/metrics`);
  if (recovered.settled + recovered.voided > 0)
    output.note(
      say(
        `恢复：已结算 ${recovered.settled} 笔，作废 ${recovered.voided} 笔`,
        `recovered: ${recovered.settled} settled, ${recovered.voided} voided`,
      ),
    );
  if (pending.files.length > 0)
    output.note(
      say(
        `上次运行未记账：已从 ${pending.files.join(', ')} 结算 ${pending.settled} 笔`,
        `owed by an earlier run: ${pending.settled} settled from ${pending.files.join(', ')}`,
      ),
    );
  if (gateway.descriptors !== null)
    output.note(`${say('文件与连接数上限', 'Limit of open files and connections')}: ${gateway.descriptors}`);
  output.note(say('Ctrl-C 停止', 'Ctrl-C to stop'));
}
