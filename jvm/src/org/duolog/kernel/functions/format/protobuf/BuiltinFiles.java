package org.duolog.kernel.functions.format.protobuf;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Base64;
import java.util.List;
import java.util.zip.InflaterInputStream;

/**
 * The files that every schema may import without a reference: google/protobuf, google/type and
 * confluent. Written by scripts/docs from {@code duolog.schemas.protobuf.library}: change it there.
 */
final class BuiltinFiles {
  private static final int FILE = 1; // of google.protobuf.FileDescriptorSet
  private static final List<RawMessage> ALL = read();

  private BuiltinFiles() {}

  /** Returns a FileDescriptorProto for each file, with what {@link DescriptorReader} reads. */
  static List<RawMessage> all() {
    return ALL;
  }

  private static List<RawMessage> read() {
    byte[] compressed = Base64.getMimeDecoder().decode(compressed());
    try (InflaterInputStream in =
        new InflaterInputStream(new ByteArrayInputStream(compressed))) {
      return new RawMessage(in.readAllBytes()).messages(FILE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A FileDescriptorSet, compressed with zlib, in base64. */
  private static String compressed() {
    return """
        eNrtPEuMG1dy4p8szodD/ShKtizalmXZGtkjWZbtBTYcsmeGMoek+RlZi00aPWTPDC2ym+5uShpdFlkscsomQS5JgO
        wGOeQQBAECBJsgQBAgyCXXHPaSIMgGBnY3C+SSS06LpF691182OSPDcC7RQWK/V/VevXr172rBn0bhXF/XDkZTVbNu
        j1VLWZ8YuqXnM85o8ZVDXT8cqbdpYn96cHugmn1jOLF0gwOXfhCB+C7i5rMQG+j9QuSVyI1M/i1IThRDGZuF6CuxG9
        mNy+vOmusMer1Fs5JmGcf5JYhbyqFZiCFoJv8yJIzpSDULccJc9WC2cbx4C7JeZNz2sXostl2GxBMFYXFXfPwwej9S
        +gbEGRrbRFPGqgAUxBIYm1KfTQzcX0yZn49wd3zYT9Ih74ABV1xWWccTFRnRH46VkWDZikskmy19CKkqB3BpYjsv5d
        cgMzFwyhzqGu2/zCDMvjJSiYCEs+f+zJ5PFGOo4Bbhe96E1B4HyOcgze5zoFiK2NbHmSVnj2/DpeANK9qx2GCVT63b
        U6XrECtrx2x1tqE8NUZhfHdX/4NEyPKT4Zzli68FYU19avRVGc9pqc/EsYvFIBSjRQjj70aRwskwcNk3IIXcONIHtj
        ReXA9szWQS5xmkPrHwZrgwhkE2aT6/CqknqkGXSJKSvwcrfnILCRzPbrw8s0KHwCocKn8dkuPhsyHumKQdL8zSxqbz
        b0DSPNYs5VkhheuuhFDWoWlGmToYMiILaUZZ6acRSIrz+flSgJyhfj5VTUt27pNrxCVYs2dMy1CV8VA7JOlM8ylzgi
        xSXSzOgiLknSkXLUFoHs4mF3P2yx/0VUhwXvmPiU+Grlv8aI5sfr8JJxq3WQ3YhrWt4UitOoAd1cpvQPwAB3E7drDX
        Zuj1Y7RIUv84DmdDxgOk4xEnSv+xcigsWj4PMFAnqjZQtf6xMJh4I5Pp/mjYlz1TgFOJ/EVYfaoqj70TWZpAHH4d3q
        lVWu4eLI1V08Q96X6FGX5l5lRByt+HjKpNxxwpMYcVEkIEEe9DylSNJ8O+KkTjjdkb5/OzmBlUIVUjNUwR7ush3FdH
        gyDmLVcc06SmV0JvjYukmf8Aco5yD1R5qB3ohQzhXZ2r3gO1hmD5FUecl+gG33SldoXkuzDLJD5f+kkCVhfLx11IHL
        DjCbt2ysP72JZ8Ecz3IKuhUVAH/JZjX0Y04i8gGjuw6lAqG4p2aEvW7ZP2XJdsvDZDwxsEXVP1A5T3/gjvPPzQTQYS
        JOIdV1ZSc+58lyuMLS5bsIKGEGUWGcWpztCG6ydS3RZonOjzsOysQ7cOpKHvATzB+GF/OBpaTKGZFF0LsZLjfX205w
        AWVVgJMIUFHpZiWCRNCRb5oCkgS5PAO/O4Qnbq67M35ltNHL74Fiz7T7Fgl9LfxeB86DL5CpybakP0kQaGS0ziODWF
        n6XmyE/PCy18yTZk2X1juGjxcIuhbpzuIHg3Dibai/SBqlhTvI7CBrHj8qzGcADmERqwhNHB8GDY5xvH6I7un3LjPQ
        9qx1IstbgPWS81aFNQWfZVQ7AUY8qD6WjEZcSJaYWKsieM2GxBEv6YRiZIMY4k2UjpLqzNbIwOKFuVKvVyu9ytNRu5
        M7g19Bp7Uru2VZOquUjpxwk4F2oq/IbKpZhi3PyHkBgp+yqPHFY23jqV+VmvMxQ0X3HhYxjqzdOhdhGD8YlCFiIsaX
        OGLMxAtTmHSjdQD5TpyJJ5TJui4bOQ5QZkiLDPyPoT4z8z0TQJ5WRw60HP8lI4gbaco4vmEYkQcGVUWKP7+KsoxIlq
        vIPuo5YkV5u9zbqUi7A7oIGterPczUWd51qje+9uLuYg9PhA3AtwZyOXwEMv8QVqn0pVhEj6RxAmhVqboZHNZrOeSz
        trdrrtWmM7l3HW3G43e60cOCvsSp1OeVvKZR2IzUddqZNb8pGFWyw7W0iN3m5uBZm5zLewiVgNDCGlOZcQvsqabwAh
        8qUKJLig5GGlXt6U6nKzxaS3XEfeOWNtqSWVuyjDMe/YJ71aG8eipS6cC3UGfrH2XHZ0zmXTKuKyS/8ShbNhfs6/6n
        03m2L26s1QV7nHIBaENbE5YQ3DtWWvMeOnuHO+dxrnTGMn+KtEiL9KntZf3Ya12S0WOZMRFOZyZp454s5uI8i3a/N5
        bt/l70Tgwpy41L/ZPczwKP0S93l9Tva5IO6IzYs1+f42SX8ZgfPha/kpwixiqE2mPO0TZo/Zt6nlDHK/cdslIT4nm+
        X72RKFKWV/NFQ1ayYBxBm6R8Mzwx3PFwnIeoPtc7D0mfJEke3Mh9N8Bc7RKBKJa6AvNE06EaV++ctwlmbHaLaHk5Eq
        s4TMJJOczr8OL9Hkoaqp6EFVGVNbZWTKijaQjxTzqHCOwF6GCwSG9CFxcv9I7T+Wp9bB/cJlmv8mLDFmjIfPcXndIB
        ewEqKdnrNQTssQdjEdYGw/1J1jZW3C+31OGSZwIg8yCzna8SU47xLunSYPwXAnx7OTeZrkmaKh9snFX7TvADdTNWUf
        OaQY+MMsXLWzen3/sz7nq4xoB8NnhdfsKkHfPFKMCam0ieSrhddpBi/KfDo8sGz4N2z4ydHEv9IN27OyGXeZN2kY+c
        6G7YKVZ/5textjun/sMO4Wjb5gRPZVhJOlD2HJd6EZSHRaEouDmC+rNKvMC31LQpeM3rBe60pyu9fo1nalXKz0J1FY
        CaQJV+GinWmbqiU/HRokWGOFW7d0/g24qukojyioijGQ3fKErPTxpk2d26/gZfNCDcYmY2WCt20ZxxTDpNFdXXfB5J
        F6qPSPZQpgKIuUqaA47FsmCWfax+Olr4nH/wmw5AuQNiDRJ5MUIX17dWE4tV6hkGmFlZ/7j9WB4M9dSH5m0iLc+7y2
        eJEHHVoFjeZIeX4sDBgGalONR/WMeWxidS7zEZUVXoQBQgkeqPvTQ9lQB0rfEtr9K5BhB9eIR2tE163FdPF/2zYSWq
        QU+sJDFS/sLLJ4JSTBDMHvEgqdcAtyohghi5jXRGPILuvtxSuJEkWVI/kE5fzJgiLBqgCXzelkoqM7v0BYJ+xqL8Fx
        vhJ5Kz7ArNh/GE+FJra4QhN431D8IgIrARrvQt7mMO5t6INpH4UkcsK6HiyPaEVPwEJ/YEMzzKeKodl120z+XVi1lz
        TUsc4ywfgJ61E4h6DKSFYNA41NgsqstyHBtQwgKdKBM/k0xCvNNrOEaPr4qNyqSRU0hqX3ICk0Cq3kg47caLZ3MRg/
        Ix7FGhF7tre7KbURrQerQYE/D2ttqSs1WDgv9xofN5oPWVLqG7ZNbgTVLucOd5q9NlHzm1HIzSjCRTjbLbe3pa7MUx
        RnaVzDO7FVowzsKlz2jkqf4i4d2rzc2Gb2P7CenRTFGKn+9aR6FTO0wHCzITW3MFEL7E6JUjJfhAvBUfyr236EaVtg
        447U3qvhsdP5C5D3U9TdaVZzmdJ3I+jUPDmKT5cjX5PR/+cIZL2JCQajymikP5WV0VAxFzi503u05IxHS31Nh/vvCO
        SC2UPgMJEZ4qInExf0KpwjIbY1/n9kW0u/j/bQn6L4zlg6+Yx+Nl2jE34lpP0oCsv+1CVsqwewNhyo44lusRckKF9P
        1BGRvRJSgfYtt15z8eoMzXfyV78m0WtBboYOtBC1qrTbaqLNqjzymLqzsNpoYgCLUay0tSVVuh1ea3Kgu2g9fxiFs2
        GV1o9EgslT3FunoW69gQgtzOVZyoBsRhOPSmuIqlvMfqU40U10R0/YWxe7IscEOs7mNFT4wBzzUTHSDX3K0hw+yrQ/
        QgkLT+7cyt4SC+yUw0ODLWWDU1JZvANph0SMptn5MAmh2kOU5yVDU3bfpERxNF36rSUAzzWWYYVbogmrjGh9O4x9c8
        Hdc8VsCQT/25PovPjVxWa2hpxaGy7aNV5hDnE9fWDHBCsb7y5api1QiRhJIKJYrrKUmPFpOODF7fi8Oqy7Vg9R9hwM
        tFE5O/FxKErMKwS7q4j0yaHlI8hyU89zJh7aX1+0wgME3yLofB3OqRpi9qkczGQCE4SRKl46ry9mMOE1CK3DsPJHcM
        kuGptUx5I9Fa80LSktWtIte4nBdRGNBqtiedmlmxaSR5iPon/j1Yjyok2oFFQncHsXcRTPTPH3IrA2Q07p1yNwcR5J
        r8O1qrRV7tW7cufR7mazLu/VOrXNGmbAXvuCpkT6tNVsd+Vyvc7DM/HcbbbkurQn1TFywiCw3qyU6wQUs2PMSjcXLx
        5DfvYIpT7kZ0+BJuVcq93sNuV6bbfW7XjIeAku1aXtMpo+tHZIQL1WqXUFGKfKi7jxzsY9NHvfhmW/UmIMRrGb3GpL
        HTSk3phxCdL2urggPtV2xVOUGVmxu1NsjpXeRwRbaTESpIAuEIdifN1sSQ1cDzlSqTc7VKXeg/PhavoqXLUL3DzGxA
        Cx0qyyqNxdE1dqlSsfU/2C01xuVGndCqwEVPYyXOx1t+7Le+V6rVoOxN+4EL0SeoQHREIbGL7iqTqwGtTYK1AQoXAY
        PcSbxnZ3hzGVKv48KahKdBdE2Q6AR4nRlz3oIClbLKPoepbKQALlp/kQF8DAV3B8U+p0mWtDkcOVDhy58SryK3BFai
        AEXmijvMvo63Qf1b03gQTREErGXTvdYRB8Ey7BNsA9ZMN3Y5B3lVDoEKu9p52UmzeOfGOB7tponqFA1or5HZ5iOEZH
        YWevJ+V3DEV55kNJLEYp/igChbkkvEDi/AGcwxTUMFC8mJN2AqP4yYHRHeZRnzGXZiMlTkQq/ZhFov7GjA8hPdLF+1
        l+ATdO6OVYrwv44m9EIG0/oATEJ4p1RIskNqMkE3FzovD3zXwEI5yRqgyorqyPxxjrmCLCuQRrlqGgIfVO8X6qa3DJ
        RhqoltI/UgcuCOvbyJT+MApr26KsPXCOVgZQNE23vIebDclm8NbLDlLxHyIA7mPIGTFFEy0x1PsUtfsA99XDoSbe8o
        q3M3F62IG0qY4VjPL6QszuvRBJ6x2BXboBafu3Y27O5FMQ60jM4JLu18qdXPTmP0UhZYscWhepWgtYrrOwYg8K/f1e
        yjtIrmAj99PZwTu5n6UwKlyyB1Hb7+R+Hhy6m/uP4NC93C9SaOVzLjGdbpm92P3tBrNn9vC7cpeZq2aj/gjP5JnY8E
        xE0ZtdtCc+wD/veyZ/8P1kcPq+Z/qHs9MfeKb/CKfxju3p3fKnuf/BP6mbPcjNRADoNH0un13EmcAoeXU8Cjo4zyiP
        AHJRUOHlmXa8Ke93mNeMdxPSVQHCOuVMFbP9AS9axJgoaoqm80zabar9JlwOboP5kTW35TUFCYnNOws8nG0b5LH1WD
        Efz1ulCBnyz7sIwyhjusTNvtuQ2IdT9b/OLl6CZX9LKWsHQZ2U3Td+zia/jMGVmV0sY9qfu/r3IhiBEQRa3iQd1XZY
        s6V4DsjzF96fXZTYyz3n0d+u/bq3fBrW+kolE2rj/kUEEvSUfwdAY80ublP1ykZxBrOBIAS/cwYjgCX+tld2d4vwcV
        86SAZ5h8kt7Ov6yJNspnH0NkHj8TyJZlgbK+cBIiCho6FpeTLQbAihdQQRhG4mIf54qA1KdzAGtodZgzCtYHN9Dpdu
        XoaMc2gWazd69ToL13poHJ37P4SrM+3TQ8zFLGU8mScBb0Gma8OcWs/+KwsLGrVne7/nt6Gfri289POIaJfxv+q+7s
        hsdA73SDrZGyNq77G/QrjhffO9sF/5yzZ+u33OyVP3OVMrEuu5SnCq3+QCI7TgcvjZ1j9GkPz7kO0rBgYTCuWkvI5Q
        moNRcSFnWrds/sbt/imnCzwZ1iiVIiT3hVw62A6eWczekBarmQ4tepVe+scoxOmodiuS6+b/v4XqxVqoLMh6RQCjj0
        q5jdlaOZDSY5btnfD0WQVm3M6q2Rm7D6v0b6jCLA8OqPAtXv/ytkQV57fnvMA3HLOaG39BzU2cWnNJNzAlzriELm5J
        OvUxSh9BUhzIv+Krfu96bga/rB3frKB358SioHQeNbrlT+2g90xw6A6F/atiSESGGGY7Rv/vo7NB3FNDmUxUw5znXa
        5AtkqVWs4U39dSkdJlgK2Rrlghk1E2WdOse3dDJmNs3d682bhAvbMRMpmwUUNnl1kst4nRQchcmmF2KKIImc2wTTeP
        LdUMmXS/mfqbCFwTPKRvvtiHYaz9Q0YmDvWBYGNWsJGB3PwOrFQEVIuA2PtJDLalRrXclltSu9assqC8JVV42y4lS9
        UySywwf3ooSR/zsgWrjDRq2ztdtICYRe02G90dtH1ZSH3SK7e7UhsNHyLslOtbaPDw1yOp3M6lHNr/PAIXfbTrI+dT
        Gi/FxROkpPSrkKgwXBYuGuL9GKMwcWioKv9sLsqkfd8O26L5m5BQRpMjZX4JwZEjh14ZLnjJHWDmGUJt6R2IV1kzNG
        54rCp20zVSM0aDcCT0lX1RqBwHPuH716gTBTk7sHjrVDzxpz+ln0Qw3UF8FoudnhQ2d4TWyxRZOJqk8VCbWqJskvAG
        dEkbgQd03HPfBphafVk/ODBVS7Q0X5r9jkHQimHvTciwI8rPMQoQH8mcX/ccdJ0d4Fs4iQHvMmQJlq9eegPS9mQeID
        ocuJ9B2R/b+T/iQmW57OfvsX7wVFUfh6kJZjKZqnLcPHiIAKygiRogN7dkJv8B9QBIovBzDUHp7/akDnsgJXkoVRv8
        Mcaqpt2dXpue4gxrq11jv1mUlO6Uu702e0pSFbtH67nK8sD5NjLke1Kf/BXmfEzq8uE7fkFmX7OGLdRC/4pT7FUnA1
        FNk9eHROnGGlojTzuo3W5m1/Mo2HNKZv7vY1W/nB8YSt+TufuI2ID0lpimt2rTMSv56IbIJ2hjTUchpUFGTczZ5m8j
        /n3oneKTUK4VT0p0SkeQrgn8/DoAtRXLDEi0PcwGGW4a9Dak0d5y6OhJ0A75vwYFL/UjxRpph2E8ugXJumLVtUNiOT
        Lcmg6ES2Q8G+naIR+iVNZZf+zUJvj6eFej4XP2tZZbPvDtcxeW6zZQl4U27LMRFghF7EB7pGiHU/aijn34FtC+kd/a
        owlSj8N2+Qa6EjbH1utPDYPepdN6juhNNfYOK+rPKP229N8jM9tZR2F6/hcR2s86YqUm8mEB7UaNflBuoEd7xF98bE
        mbbXqKktcrtys73AGWW+1aHRUbveUuaTW6vAe9hsSd34NenXXcoG6Xe9u9ThdDfFb6l1pdiTqY2KfkqWal22QPwDZq
        NPf4VJY9VaUKf3Kd/xcRJ4CiM06OkG8yjwvDOPtnEci2GEyDQJhsuO+jY+IOs+q79+7Kng+GWI3jPgr8kY4C79xr1s
        0GyUx71l3vMFBWk905U3wHz2g/Mm011EPWVOa5T38om7HLGs4p/zrql9OJjmoykpXBgJmksHP+MgLLLYIqcyD+/dKT
        oWPAEkFSouESHLOtm9iUBuNOOzOeixfiB7zAQw3ayoC9WTEtg/caKIaquF8PcSWzjt3PhEyMZu3BtE2FOJw8Gmoqz3
        mpDZ/9TwCTIRX0+bd9SIRuHCra8Dk3s1mfxo2d6h0x7vMpxgOGNsfQ4hV/4gCgOEeeCQuCP3kBgH4+J57Qz6fEiYjH
        rfi8K7N2+gH62LDdPuZVouYBulg36IgEg45oMOiI+YOOuFfn/xfPdZZT
        """;
  }
}
