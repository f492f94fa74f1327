/** Files that keep the gateway running: systemd, containers, launchd. */
import { AppError } from '../../../server/contract/errors.ts';
import { type CommandRun, text } from '../../command.ts';

interface Facts {
  readonly program: string;
  readonly dataDir: string;
  readonly port: string;
}

const systemd = ({ program, dataDir, port }: Facts): string => `[Unit]
Description=AI gateway
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=${program} serve --host 127.0.0.1 --port ${port} --data-dir ${dataDir}
Restart=on-failure
# Open streams are given 30 seconds to end, what is owed another 10.
TimeoutStopSec=40
DynamicUser=yes
StateDirectory=gateway
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
LimitNOFILE=65536

[Install]
WantedBy=multi-user.target
`;

const container = ({ port }: Facts): string => `FROM debian:stable-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates \\
  && rm -rf /var/lib/apt/lists/* && useradd --create-home gateway \\
  && install -d -o gateway -g gateway -m 700 /data
COPY gateway /usr/local/bin/gateway
USER gateway
ENV GATEWAY_DATA_DIR=/data GATEWAY_HOST=0.0.0.0 GATEWAY_PORT=${port}
VOLUME /data
EXPOSE ${port}
STOPSIGNAL SIGTERM
ENTRYPOINT ["gateway"]
CMD ["serve"]
`;

const launchd = ({ program, dataDir, port }: Facts): string => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>gateway</string>
  <key>ProgramArguments</key>
  <array>
    <string>${program}</string>
    <string>serve</string>
    <string>--port</string><string>${port}</string>
    <string>--data-dir</string><string>${dataDir}</string>
  </array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><true/>
  <key>ExitTimeOut</key><integer>40</integer>
</dict>
</plist>
`;

const kinds = { systemd, container, launchd } as const;

export const print: CommandRun = async (context, flags, given) => {
  const kind = given === '' ? 'systemd' : given;
  if (!Object.hasOwn(kinds, kind)) throw new AppError('usage', { detail: `${kind}: ${Object.keys(kinds).join(', ')}` });
  const dataDir = kind === 'systemd' && context.flags.dataDir === undefined ? '/var/lib/gateway' : context.dataDir;
  const facts = { program: process.execPath, dataDir, port: text(flags.port) ?? context.env.GATEWAY_PORT ?? '3000' };
  const file = kinds[kind as keyof typeof kinds](facts);
  context.output.object({ kind, file }, [file.trimEnd()], kind);
};
